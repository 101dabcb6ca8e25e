package graph

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// functionCase calls a function of the framework and says what it must give, in float64.
type functionCase struct {
	op         string
	outputs    int
	attributes []*Attribute
	inputs     []functionInput
	want       func(in [][]float64) [][]float64
}

type functionInput struct {
	name string
	dims []int64
	typ  Type // Undefined: the float type that is tested
	data []float64
}

const rows, width = 6, 5 // of the tensors below

// each applies a formula elementwise.
func each(f func(x ...float64) []float64) func(in [][]float64) [][]float64 {
	return func(in [][]float64) [][]float64 {
		var out [][]float64
		for i := range in[0] {
			x := make([]float64, len(in))
			for j := range in {
				x[j] = in[j][i]
			}
			for j, y := range f(x...) {
				if j == len(out) {
					out = append(out, make([]float64, len(in[0])))
				}
				out[j][i] = y
			}
		}
		return out
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func siluSlope(x float64) float64 { return sigmoid(x) * (1 + x*(1-sigmoid(x))) }

func functionCases(r *rand.Rand) []functionCase {
	// Large values show whether a formula keeps its head where exponentials overflow.
	wide := func() []float64 {
		v := normal(r, rows*width)
		v[0], v[1], v[2] = 30, -30, 0
		return v
	}
	matrix := func(name string) functionInput {
		return functionInput{name: name, dims: []int64{2, rows / 2, width}, data: wide()}
	}
	vector := func(name string, n int64) functionInput {
		return functionInput{name: name, dims: []int64{n}, data: normal(r, n)}
	}
	var mean, inv, rms []float64
	x := matrix("x")
	x.data = normal(r, rows*width)
	for i := range rows {
		m, s, q := 0.0, 0.0, 0.0
		for _, v := range x.data[i*width : (i+1)*width] {
			m += v / width
			q += v * v / width
		}
		for _, v := range x.data[i*width : (i+1)*width] {
			s += (v - m) * (v - m) / width
		}
		mean, inv, rms = append(mean, m), append(inv, 1/math.Sqrt(s+1e-5)), append(rms, 1/math.Sqrt(q+1e-6))
	}
	saved := func(name string, v []float64) functionInput {
		return functionInput{name: name, dims: []int64{2, rows / 2, 1}, typ: Float32, data: v}
	}
	softmaxed := matrix("y")
	for i := range rows {
		softmax(softmaxed.data[i*width : (i+1)*width])
	}
	logits := functionInput{name: "logits", dims: []int64{rows, width}, data: wide()}
	logits.data[width+1], logits.data[width+3], logits.data[2*width] = math.Inf(-1), math.Inf(-1), 500
	targets := functionInput{name: "targets", dims: []int64{rows}, typ: Int64, data: []float64{1, 2, 3, 4, 0, 2}}
	lse := functionInput{name: "lse", dims: []int64{rows}, data: crossEntropy([][]float64{logits.data, targets.data})[1]}

	positive := vector("v", 7)
	for i, v := range positive.data {
		positive.data[i] = v * v / 100
	}
	scalars := functionInput{name: "scalars", dims: []int64{4}, data: []float64{0.01, 0.5, 1 - math.Pow(0.8, 3), 1 - math.Pow(0.9, 3)}}

	return []functionCase{
		{op: "StopGradient", inputs: []functionInput{matrix("x")}, want: each(func(x ...float64) []float64 { return x })},
		{op: "Silu", inputs: []functionInput{matrix("x")}, want: each(func(x ...float64) []float64 { return []float64{x[0] * sigmoid(x[0])} })},
		{op: "SiluGrad", inputs: []functionInput{matrix("dy"), matrix("x")}, want: each(func(x ...float64) []float64 {
			return []float64{x[0] * siluSlope(x[1])}
		})},
		{op: "SwiGLU", inputs: []functionInput{matrix("u"), matrix("v")}, want: each(func(x ...float64) []float64 {
			return []float64{x[0] * sigmoid(x[0]) * x[1]}
		})},
		{op: "SwiGLUGrad", outputs: 2, inputs: []functionInput{matrix("dy"), matrix("u"), matrix("v")}, want: each(func(x ...float64) []float64 {
			return []float64{x[0] * x[2] * siluSlope(x[1]), x[0] * x[1] * sigmoid(x[1])}
		})},
		{op: "GeluGrad", inputs: []functionInput{matrix("dy"), matrix("x")}, want: each(func(x ...float64) []float64 {
			return []float64{x[0] * (0.5*math.Erfc(-x[1]/math.Sqrt2) + x[1]*math.Exp(-x[1]*x[1]/2)/math.Sqrt(2*math.Pi))}
		})},
		{op: "SoftmaxGrad", inputs: []functionInput{matrix("dy"), softmaxed}, want: softmaxGrad},
		{op: "LayerNormGrad", outputs: 3, inputs: []functionInput{matrix("dy"), x, vector("gamma", width), saved("mean", mean), saved("inv", inv)},
			want: func(in [][]float64) [][]float64 { return normGrad(in[0], in[1], in[2], in[3], in[4]) }},
		{op: "RMSNormGrad", outputs: 2, inputs: []functionInput{matrix("dy"), x, vector("gamma", width), saved("inv", rms)},
			want: func(in [][]float64) [][]float64 { return normGrad(in[0], in[1], in[2], nil, in[3])[:2] }},
		{op: "CrossEntropy", outputs: 2, inputs: []functionInput{logits, targets}, want: crossEntropy},
		{op: "CrossEntropyGrad", inputs: []functionInput{vector("dnll", rows), logits, targets, lse}, want: crossEntropyGrad},
		{op: "AdamW", outputs: 3, attributes: []*Attribute{Float("rest1", 0.2), Float("rest2", 0.1), Float("epsilon", 1e-3)},
			inputs: []functionInput{vector("p", 7), vector("g", 7), vector("m", 7), positive, vector("decay", 7), vector("rate", 7), scalars},
			want:   func(in [][]float64) [][]float64 { return adamW(in, 0.2, 0.1, 1e-3) }},
		{op: "AdamW", outputs: 3, attributes: []*Attribute{Float("rest1", 0.2), Float("rest2", 0.1), Float("epsilon", 1e-3)}, // one decay for all
			inputs: []functionInput{vector("p", 7), vector("g", 7), vector("m", 7), positive, vector("decay", 1), vector("rate", 7), scalars},
			want:   func(in [][]float64) [][]float64 { return adamW(in, 0.2, 0.1, 1e-3) }},
		{op: "AdamW", outputs: 3, // the defaults
			inputs: []functionInput{vector("p", 7), vector("g", 7), vector("m", 7), positive, vector("decay", 7), vector("rate", 7), scalars},
			want:   func(in [][]float64) [][]float64 { return adamW(in, 0.1, 0.001, 1e-8) }},
	}
}

func softmax(x []float64) {
	sum := 0.0
	for i, v := range x {
		x[i] = math.Exp(v)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
}

func softmaxGrad(in [][]float64) [][]float64 {
	out := make([]float64, len(in[0]))
	for i := 0; i < len(out); i += width {
		dot := 0.0
		for j := i; j < i+width; j++ {
			dot += in[0][j] * in[1][j]
		}
		for j := i; j < i+width; j++ {
			out[j] = in[1][j] * (in[0][j] - dot)
		}
	}
	return [][]float64{out}
}

// normGrad is the gradient of gamma (x - mean) inv; without a mean that of gamma x inv.
func normGrad(dy, x, gamma, mean, inv []float64) [][]float64 {
	dx, dgamma, dbeta := make([]float64, len(x)), make([]float64, width), make([]float64, width)
	for i := range rows {
		m1, m2 := 0.0, 0.0
		hat := make([]float64, width)
		for j := range width {
			k := i*width + j
			if hat[j] = x[k] * inv[i]; mean != nil {
				hat[j] = (x[k] - mean[i]) * inv[i]
				m1 += dy[k] * gamma[j] / width
			}
			m2 += dy[k] * gamma[j] * hat[j] / width
			dgamma[j] += dy[k] * hat[j]
			dbeta[j] += dy[k]
		}
		for j := range width {
			dx[i*width+j] = (dy[i*width+j]*gamma[j] - m1 - hat[j]*m2) * inv[i]
		}
	}
	return [][]float64{dx, dgamma, dbeta}
}

func crossEntropy(in [][]float64) [][]float64 {
	nll, lse := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		row := in[0][i*width : (i+1)*width]
		top, sum := math.Inf(-1), 0.0
		for _, v := range row {
			top = max(top, v)
		}
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		lse[i] = top + math.Log(sum)
		nll[i] = lse[i] - row[int(in[1][i])]
	}
	return [][]float64{nll, lse}
}

func crossEntropyGrad(in [][]float64) [][]float64 {
	out := make([]float64, rows*width)
	for i := range rows {
		for j := range width {
			out[i*width+j] = in[0][i] * math.Exp(in[1][i*width+j]-in[3][i])
		}
		out[i*width+int(in[2][i])] -= in[0][i]
	}
	return [][]float64{out}
}

// adamW is torch.optim.AdamW's single-tensor form. Its attributes are float32: 1 - beta1, 1 - beta2, epsilon.
func adamW(in [][]float64, rest1, rest2, epsilon float32) [][]float64 {
	n := len(in[0])
	out := [][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}
	lr, clip, bias1, bias2 := in[6][0], in[6][1], in[6][2], in[6][3]
	for i := range n {
		g := clip * in[1][i]
		m := (1-float64(rest1))*in[2][i] + float64(rest1)*g
		v := (1-float64(rest2))*in[3][i] + float64(rest2)*g*g
		step := lr * in[5][i]
		out[0][i] = in[0][i] - step*in[4][i%len(in[4])]*in[0][i] - step/bias1*m/(math.Sqrt(v)/math.Sqrt(bias2)+float64(epsilon))
		out[1][i], out[2][i] = m, v
	}
	return out
}

// TestFunctions runs every function of the framework as a model-local function of stock operators.
func TestFunctions(t *testing.T) {
	covered := map[string]bool{}
	for _, opset := range []int64{17, 18, 20, 23} {
		for _, typ := range []Type{Float32, Float64} {
			for i, c := range functionCases(rand.New(rand.NewPCG(1, 2))) {
				if c.op == "GeluGrad" && typ == Float64 {
					continue // the runtime has no Erf of float64
				}
				covered[Domain+"."+c.op] = true
				t.Run(fmt.Sprintf("%s/%d/%s/%d", c.op, opset, typ, i), func(t *testing.T) { testFunction(t, c, opset, typ) })
			}
		}
	}
	for key := range functions {
		if !covered[key] {
			t.Errorf("%s is not tested", key)
		}
	}
}

func testFunction(t *testing.T, c functionCase, opset int64, typ Type) {
	b := NewBuilder(c.op, opset)
	var in []Value
	var feeds []*Tensor
	var data [][]float64
	for _, x := range c.inputs {
		if x.typ == Undefined {
			x.typ = typ
		}
		in = append(in, b.Input(x.name, x.typ, sizes(x.dims)...))
		feeds = append(feeds, tensor(x.typ, x.dims, x.data))
		data = append(data, doubles(t, feeds[len(feeds)-1])) // rounded as the runtime sees them
	}
	var outputs []Output
	for i, v := range b.OpN(Domain+"."+c.op, max(1, c.outputs), c.attributes, in...) {
		outputs = append(outputs, Output{fmt.Sprint("out", i), v})
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	want := c.want(data)
	tolerance := map[Type]float64{Float32: 3e-6, Float64: 1e-11}[typ]
	for i, got := range runModel(t, optimised, m, feeds...) {
		if got.Type != outputs[i].Value.Type() || !SameShape(sizes(got.Dims), outputs[i].Value.Shape()) {
			t.Errorf("output %d is %s%v, inferred %s", i, got.Type, got.Dims, outputs[i].Value)
		}
		for j, v := range doubles(t, got) {
			if w := want[i][j]; v != w && !(math.Abs(v-w) <= tolerance*max(1, math.Abs(w))) {
				t.Errorf("output %d, element %d: %v, want %v", i, j, v, w)
			}
		}
	}
}

// sizes makes a shape of numbers.
func sizes(dims []int64) []Dim {
	out := make([]Dim, len(dims))
	for i, d := range dims {
		out[i] = Known(d)
	}
	return out
}
