package onnx_test

import (
	"math"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/graph"
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// each makes a case of elementwise outputs from n inputs of one shape.
func each(n int, f func(x []float64) []sum) func(*rand.Rand, int64, int64, float64) *kernelCase {
	return func(rng *rand.Rand, rows, width int64, scale float64) *kernelCase {
		c := &kernelCase{}
		for range n {
			c.inputs = append(c.inputs, normals(rng, scale, rows, width))
		}
		for range f(make([]float64, n)) {
			c.dims, c.want = append(c.dims, []int64{rows, width}), append(c.want, []sum{})
		}
		x := make([]float64, n)
		for i := range rows * width {
			for k := range x {
				x[k] = float64(c.inputs[k].floats[i])
			}
			for k, y := range f(x) {
				c.want[k] = append(c.want[k], y)
			}
		}
		return c
	}
}

// normCase is the gradient of a norm over the last axis, with the forward pass's statistics in float32.
func normCase(mean bool) func(*rand.Rand, int64, int64, float64) *kernelCase {
	return func(rng *rand.Rand, rows, width int64, scale float64) *kernelCase {
		dy, x, gamma := normals(rng, 1, rows, width), normals(rng, scale, rows, width), normals(rng, 1, width)
		means, invs := value{dims: []int64{rows, 1}}, value{dims: []int64{rows, 1}}
		c := &kernelCase{want: [][]sum{{}, make([]sum, width)}, dims: [][]int64{{rows, width}, {width}}}
		beta := make([]sum, width)
		d := float64(width)
		for r := range rows {
			row := x.floats[r*width : (r+1)*width]
			mu, variance := 0.0, 1e-5
			for _, v := range row {
				mu += float64(v) / d
			}
			if !mean {
				mu = 0
			}
			for _, v := range row {
				variance += (float64(v) - mu) * (float64(v) - mu) / d
			}
			means.floats, invs.floats = append(means.floats, float32(mu)), append(invs.floats, float32(1/math.Sqrt(variance)))
			mu, inv := float64(means.floats[r]), float64(invs.floats[r])
			m1, m2 := sum{}, sum{}
			for i := range width {
				dy, g, n := float64(dy.floats[r*width+i]), float64(gamma.floats[i]), (float64(row[i])-mu)*inv
				size := (math.Abs(float64(row[i])) + math.Abs(mu)) * inv // before the mean is taken off
				m1.x, m1.scale = m1.x+dy*g/d, m1.scale+math.Abs(dy*g)/d
				m2.x, m2.scale = m2.x+dy*g*n/d, m2.scale+math.Abs(dy*g)*size/d
				c.want[1][i].x += dy * n
				c.want[1][i].scale += math.Abs(dy) * size
				beta[i].x += dy
				beta[i].scale += math.Abs(dy)
			}
			if !mean {
				m1 = sum{}
			}
			for i := range width {
				dy, g, n := float64(dy.floats[r*width+i]), float64(gamma.floats[i]), (float64(row[i])-mu)*inv
				size := (math.Abs(float64(row[i])) + math.Abs(mu)) * inv
				c.want[0] = append(c.want[0], sum{inv * (dy*g - m1.x - n*m2.x), inv * (math.Abs(dy*g) + m1.scale + size*m2.scale)})
			}
		}
		c.inputs = []value{dy, x, gamma, means, invs}
		if mean {
			c.want, c.dims = append(c.want, beta), append(c.dims, []int64{width})
		} else {
			c.inputs = []value{dy, x, gamma, invs}
		}
		return c
	}
}

// entropyCase is the cross-entropy, forward or backward. A third of the rows has no weight.
func entropyCase(backward bool) func(*rand.Rand, int64, int64, float64) *kernelCase {
	return func(rng *rand.Rand, rows, width int64, scale float64) *kernelCase {
		z, dnll := normals(rng, min(scale, 4), rows, width), normals(rng, 1, rows)
		targets, lses := value{dims: []int64{rows}, targets: []int64{}}, value{dims: []int64{rows}}
		c := &kernelCase{inputs: []value{z, targets}, dims: [][]int64{{rows}, {rows}}, want: [][]sum{{}, {}}}
		grad := []sum{}
		for r := range rows {
			row, target := z.floats[r*width:(r+1)*width], rng.Int64N(width)
			if r%3 == 2 {
				dnll.floats[r] = 0
			}
			for i := range row {
				if int64(i) != target && rng.IntN(5) == 0 {
					row[i] = float32(math.Inf(-1))
				}
			}
			total := 0.0
			for _, x := range row {
				total += math.Exp(float64(x))
			}
			lse := math.Log(total)
			targets.targets, lses.floats = append(targets.targets, target), append(lses.floats, float32(lse))
			size := 10 + math.Abs(lse)
			c.want[0] = append(c.want[0], sum{lse - float64(row[target]), size})
			c.want[1] = append(c.want[1], sum{lse, size})
			for i, x := range row {
				p, d := math.Exp(float64(x)-float64(lses.floats[r])), float64(dnll.floats[r])
				scale := p * size * math.Abs(d)
				if int64(i) == target {
					p, scale = p-1, scale+math.Abs(d)
				}
				grad = append(grad, sum{p * d, scale})
			}
		}
		c.inputs[1] = targets
		if backward {
			return &kernelCase{inputs: []value{dnll, z, targets, lses}, dims: [][]int64{{rows, width}}, want: [][]sum{grad}}
		}
		return c
	}
}

// kernelReferences make a case of each operator on [rows, width].
var kernelReferences = map[string]func(rng *rand.Rand, rows, width int64, scale float64) *kernelCase{
	"GeluGrad": each(2, func(x []float64) []sum {
		density := math.Exp(-x[1]*x[1]/2) / math.Sqrt(2*math.Pi)
		// Near x = -0.75 the two terms cancel: 6e-7 of one. Far out, where both are tiny, the number counts.
		return []sum{{x[0] * (math.Erfc(-x[1]/math.Sqrt2)/2 + x[1]*density), 3 * x[0] * x[1] * density}}
	}),
	"Silu": each(1, func(x []float64) []sum { return []sum{{x[0] * sigmoid(x[0]), 0}} }),
	"SiluGrad": each(2, func(x []float64) []sum {
		s, c := sigmoid(x[1]), sigmoid(-x[1])
		return []sum{{x[0] * s * (1 + x[1]*c), x[0] * s}}
	}),
	"SwiGLU": each(2, func(x []float64) []sum { return []sum{{x[0] * sigmoid(x[0]) * x[1], 0}} }),
	"SwiGLUGrad": each(3, func(x []float64) []sum {
		s, c := sigmoid(x[1]), sigmoid(-x[1])
		return []sum{{x[0] * x[2] * s * (1 + x[1]*c), x[0] * x[2] * s}, {x[0] * x[1] * s, 0}}
	}),
	"SoftmaxGrad": func(rng *rand.Rand, rows, width int64, scale float64) *kernelCase {
		dy, y := normals(rng, 1, rows, width), normals(rng, scale, rows, width)
		c := &kernelCase{inputs: []value{dy, y}, dims: [][]int64{{rows, width}}, want: [][]sum{{}}}
		for r := range rows {
			row, dot, total := y.floats[r*width:(r+1)*width], sum{}, 0.0
			for i := range row {
				row[i] = float32(math.Exp(float64(row[i])))
				total += float64(row[i])
			}
			for i := range row {
				row[i] = float32(float64(row[i]) / total)
				t := float64(row[i]) * float64(dy.floats[r*width+int64(i)])
				dot = sum{dot.x + t, dot.scale + math.Abs(t)}
			}
			for i, y := range row {
				d := float64(dy.floats[r*width+int64(i)])
				c.want[0] = append(c.want[0], sum{float64(y) * (d - dot.x), float64(y) * (math.Abs(d) + dot.scale)})
			}
		}
		return c
	},
	"LayerNormGrad":    normCase(true),
	"RMSNormGrad":      normCase(false),
	"CrossEntropy":     entropyCase(false),
	"CrossEntropyGrad": entropyCase(true),
	"AdamW":            adamwCase,
}

func adamwCase(rng *rand.Rand, rows, width int64, scale float64) *kernelCase {
	const lr, clip, bias1, bias2, eps = 3e-3, 0.7, 0.3, 0.02, 1e-8
	b1, b2 := 1-float64(float32(0.1)), 1-float64(float32(0.001))
	n := rows * width
	v, decay, rate := normals(rng, scale, n), normals(rng, 0.1, n), normals(rng, 1, n)
	for i, x := range v.floats {
		v.floats[i] = x * x
	}
	if width%2 == 0 {
		decay.dims, decay.floats = []int64{1}, []float32{0.1}
	}
	c := &kernelCase{
		attributes: []*graph.Attribute{graph.Float("rest1", 0.1), graph.Float("rest2", 0.001), graph.Float("epsilon", eps)},
		inputs:     []value{normals(rng, scale, n), normals(rng, scale, n), normals(rng, scale, n), v, decay, rate, {dims: []int64{4}, floats: []float32{lr, clip, bias1, bias2}}},
		dims:       [][]int64{{n}, {n}, {n}}, want: [][]sum{{}, {}, {}},
	}
	for i := range n {
		at := func(k int) float64 { return float64(c.inputs[k].floats[i%int64(len(c.inputs[k].floats))]) }
		p, g, m, v := at(0), at(1)*clip, at(2), at(3)
		m1, v1 := b1*m+(1-b1)*g, b2*v+(1-b2)*g*g
		l, step := lr*at(5), lr*at(5)/bias1/(math.Sqrt(v1)/math.Sqrt(bias2)+eps)
		size := math.Abs(m) + math.Abs(g)
		for k, y := range []sum{{p - l*at(4)*p - step*m1, math.Abs(p) + math.Abs(step*size)}, {m1, size}, {v1, 0}} {
			c.want[k] = append(c.want[k], y)
		}
	}
	return c
}
