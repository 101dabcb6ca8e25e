package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// value is an input of a kernel: numbers, or targets.
type value struct {
	dims    []int64
	floats  []float32
	targets []int64
}

// sum is a number of the reference with the magnitude of what was added up for it.
type sum struct{ x, scale float64 }

// kernelCase is one call of an operator of domain mdm and what it must give.
type kernelCase struct {
	op         string
	attributes []*graph.Attribute
	inputs     []value
	want       [][]sum
	dims       [][]int64 // of the outputs
}

// build makes a program whose only node is the operator, feeds it, and returns a function that runs it.
func (c *kernelCase) build(t testing.TB, d *onnx.Device, functions ...*graph.Function) func() [][]float32 {
	t.Helper()
	var in, out []*graph.ValueInfo
	call := &graph.Node{Op: c.op, Domain: "mdm", Attributes: c.attributes}
	o := onnx.ProgramOptions{}
	known := func(dims []int64) (shape []graph.Dim) {
		for _, n := range dims {
			shape = append(shape, graph.Known(n))
		}
		return shape
	}
	for i, v := range c.inputs {
		name, typ := fmt.Sprintf("in%d", i), graph.Float32
		if v.targets != nil {
			typ = graph.Int64
		}
		call.Inputs = append(call.Inputs, name)
		in = append(in, tensor(name, typ, known(v.dims)...))
	}
	for i, dims := range c.dims {
		name := fmt.Sprintf("out%d", i)
		call.Outputs, o.Outputs = append(call.Outputs, name), append(o.Outputs, name)
		out = append(out, floats(name, known(dims)...))
	}
	g := graph.Model{IRVersion: 9, Opsets: []graph.Opset{{Version: 20}, {Domain: "mdm", Version: 1}}, Functions: functions,
		Graph: &graph.Graph{Name: c.op, Nodes: []*graph.Node{call}, Inputs: in, Outputs: out}}
	p := must[*onnx.Program](t)(d.NewProgram(t.Context(), onnx.Model{Name: c.op, Data: g.Encode()}, o))
	f := must[*onnx.Feed](t)(p.NewFeed())
	for i, v := range c.inputs {
		if name := fmt.Sprintf("in%d", i); v.targets != nil {
			copy(must[[]int64](t)(f.Int64(name)), v.targets)
		} else {
			copy(must[[]float32](t)(f.Float32(name)), v.floats)
		}
	}
	return func() [][]float32 {
		t.Helper()
		if err := p.Run(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		var got [][]float32
		for _, name := range o.Outputs {
			got = append(got, must[[]float32](t)(p.Output(name)))
		}
		return got
	}
}

// check compares with the reference: 2e-6 of the number, and 2e-7 of what was added up for it.
func (c *kernelCase) check(t testing.TB, got [][]float32) {
	t.Helper()
	for i, want := range c.want {
		if len(got[i]) != len(want) {
			t.Fatalf("output %d has %d elements, want %d", i, len(got[i]), len(want))
		}
		for k, w := range want {
			x := float64(got[i][k])
			if x == w.x || math.IsNaN(x) && math.IsNaN(w.x) {
				continue
			}
			if !(math.Abs(x-w.x) <= 2e-6*math.Abs(w.x)+2e-7*math.Abs(w.scale)+1e-30) {
				t.Fatalf("output %d, element %d: %g, want %g (scale %g)", i, k, x, w.x, w.scale)
			}
		}
	}
}

func normals(rng *rand.Rand, scale float64, dims ...int64) value {
	v := value{dims: dims}
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	for range n {
		v.floats = append(v.floats, float32(rng.NormFloat64()*scale))
	}
	return v
}

// Shapes with odd sizes, one row, one column, nothing.
var kernelShapes = [][2]int64{{1, 1}, {3, 1}, {1, 7}, {1, 100}, {5, 16}, {7, 17}, {33, 81}, {300, 129}, {64, 512}, {0, 5}}

// Every kernel against a float64 reference: on shapes, scales and instruction sets, the same bits for one thread and for
// two, again and again.
func TestKernels(t *testing.T) {
	one, two := device(t, onnx.Options{Threads: 1}), device(t, onnx.Options{Threads: 2})
	for _, level := range []string{"", "avx2", "baseline"} {
		t.Setenv("MDMHOST_SIMD", level)
		for name, reference := range kernelReferences {
			t.Run(name+level, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(len(name))))
				for i, shape := range kernelShapes {
					if level != "" && i%2 == 0 {
						continue
					}
					for _, scale := range []float64{1, 30} {
						c := reference(rng, shape[0], shape[1], scale)
						c.op = name
						run := c.build(t, one)
						got := run()
						c.check(t, got)
						if shape[0]*shape[1] < 8192 {
							continue
						}
						run = c.build(t, two)
						for range 20 {
							for k, out := range run() {
								if !slices.EqualFunc(out, got[k], func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
									t.Fatalf("output %d of shape %v differs between one thread and two", k, shape)
								}
							}
						}
					}
				}
			})
		}
	}
}

// Not-a-numbers and infinities go through, and never become numbers.
func TestKernelsKeepNaN(t *testing.T) {
	d := device(t, onnx.Options{Threads: 1})
	for _, level := range []string{"", "avx2", "baseline"} {
		t.Setenv("MDMHOST_SIMD", level)
		for name, reference := range kernelReferences {
			if name == "CrossEntropyGrad" {
				continue // it sees them in lse: TestCrossEntropyExtremes
			}
			c := reference(rand.New(rand.NewPCG(2, 2)), 3, 40, 1)
			c.op = name
			for i, v := range c.inputs {
				if len(v.floats) != 120 {
					continue
				}
				was := v.floats[45]
				v.floats[45] = float32(math.NaN())
				found := false
				for _, out := range c.build(t, d)() {
					found = found || slices.ContainsFunc(out, func(x float32) bool { return x != x })
				}
				if !found {
					t.Errorf("%s %s: a NaN in input %d is lost", name, level, i)
				}
				v.floats[45] = was
			}
		}
	}
}

// A kernel takes the place of a function of the same name; without kernels the function runs.
func TestKernelsReplaceFunctions(t *testing.T) {
	fused, standard := device(t, onnx.Options{}), device(t, onnx.Options{Kernels: onnx.KernelsStandard})
	rng := rand.New(rand.NewPCG(4, 4))
	liar := &graph.Function{Domain: "mdm", Name: "Silu", Inputs: []string{"x"}, Outputs: []string{"y"}, Opsets: []graph.Opset{{Version: 20}},
		Nodes: []*graph.Node{node("Neg", []string{"x"}, []string{"y"})}}
	c := kernelReferences["Silu"](rng, 4, 9, 1)
	c.op = "Silu"
	c.check(t, c.build(t, fused, liar)())
	for i, x := range c.build(t, standard, liar)()[0] {
		if x != -c.inputs[0].floats[i] {
			t.Fatal("without kernels the function must run")
		}
	}
	for name, reference := range kernelReferences {
		c := reference(rng, 41, 33, 1)
		c.op = name
		c.check(t, c.build(t, fused, functionOf(t, c))())
		// Stock operators round more often: 1e-5 of what is added up, or of the largest number.
		got := c.build(t, standard, functionOf(t, c))()
		for i, want := range c.want {
			largest := 0.0
			for _, w := range want {
				largest = max(largest, math.Abs(w.x), math.Abs(w.scale))
			}
			for k, w := range want {
				if x := float64(got[i][k]); x != w.x && !(math.Abs(x-w.x) <= 1e-5*math.Abs(w.x)+1e-6*largest) {
					t.Fatalf("%s as a function, output %d, element %d: %g, want %g", name, i, k, x, w.x)
				}
			}
		}
	}
	_, err := onnx.OpenDevice(t.Context(), onnx.Options{Kernels: "fast"})
	contains(t, fmt.Sprint(err), `kernels "fast" are unknown; use "fused" or "standard"`)
}

// functionOf is the operator as the graph builder writes it, with stock operators.
func functionOf(t testing.TB, c *kernelCase) *graph.Function {
	t.Helper()
	b := graph.NewBuilder(c.op, 20)
	var in []graph.Value
	for i, v := range c.inputs {
		typ, shape := graph.Float32, []graph.Dim{}
		if v.targets != nil {
			typ = graph.Int64
		}
		for _, n := range v.dims {
			shape = append(shape, graph.Known(n))
		}
		in = append(in, b.Input(fmt.Sprintf("in%d", i), typ, shape...))
	}
	var out []graph.Output
	for i, v := range b.OpN("mdm."+c.op, len(c.dims), c.attributes, in...) {
		out = append(out, graph.Output{Name: fmt.Sprintf("out%d", i), Value: v})
	}
	m := must[*graph.Model](t)(b.Model(out...))
	if len(m.Functions) != 1 {
		t.Fatalf("%s: %d functions, want 1", c.op, len(m.Functions))
	}
	return m.Functions[0]
}

// What does not fit is told by operator and input.
func TestKernelErrors(t *testing.T) {
	d := device(t, onnx.Options{})
	rng := rand.New(rand.NewPCG(5, 5))
	for _, c := range []struct {
		op   string
		in   []value
		want string
	}{
		{"GeluGrad", []value{normals(rng, 1, 2, 3), normals(rng, 1, 2, 4)}, "mdm.GeluGrad: input 1 has 8 elements, expected 6"},
		{"SiluGrad", []value{normals(rng, 1, 2, 3), normals(rng, 1, 3, 2)}, "mdm.SiluGrad: input 1 has another shape than input 0"},
		{"CrossEntropy", []value{normals(rng, 1, 2, 3), {dims: []int64{2}, targets: []int64{0, 3}}}, "mdm.CrossEntropy: input 1 holds target 3, expected 0 to 2"},
		{"CrossEntropy", []value{normals(rng, 1, 2, 3), {dims: []int64{2}, targets: []int64{0, -1}}}, "mdm.CrossEntropy: input 1 holds target -1, expected 0 to 2"},
	} {
		k := kernelCase{op: c.op, inputs: c.in, dims: [][]int64{c.in[0].dims, {2}}[:1]}
		if c.op == "CrossEntropy" {
			k.dims = [][]int64{{2}, {2}}
		}
		var in []*graph.ValueInfo
		call := &graph.Node{Op: c.op, Domain: "mdm"}
		o := onnx.ProgramOptions{Dims: map[string]int64{}}
		for i, v := range c.in { // symbolic shapes, so that the kernel sees the misfit, not the session
			name, typ := fmt.Sprintf("in%d", i), graph.Float32
			if v.targets != nil {
				typ = graph.Int64
			}
			var shape []graph.Dim
			for k, n := range v.dims {
				name := fmt.Sprintf("d%d.%d", i, k)
				o.Dims[name], shape = n, append(shape, graph.Named(name))
			}
			call.Inputs, in = append(call.Inputs, name), append(in, tensor(name, typ, shape...))
		}
		var out []*graph.ValueInfo
		for i, dims := range k.dims {
			name := fmt.Sprintf("out%d", i)
			call.Outputs, o.Outputs = append(call.Outputs, name), append(o.Outputs, name)
			var shape []graph.Dim
			for k, n := range dims {
				dim := fmt.Sprintf("o%d.%d", i, k)
				o.Dims[dim], shape = n, append(shape, graph.Named(dim))
			}
			out = append(out, floats(name, shape...))
		}
		p := must[*onnx.Program](t)(d.NewProgram(t.Context(), model(c.op, []*graph.Node{call}, in, out), o))
		f := must[*onnx.Feed](t)(p.NewFeed())
		for i, v := range c.in {
			if v.targets != nil {
				copy(must[[]int64](t)(f.Int64(fmt.Sprintf("in%d", i))), v.targets)
			}
		}
		contains(t, fmt.Sprint(p.Run(t.Context(), f)), c.want)
	}
}

// Suppressed tokens have probability 0, rows without weight gradient 0, and impossible rows are NaN.
func TestCrossEntropyExtremes(t *testing.T) {
	d := device(t, onnx.Options{})
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	logits := value{dims: []int64{5, 3}, floats: []float32{1, -inf, 1, nan, 0, 0, -inf, -inf, -inf, inf, 0, 0, 80, -80, 79}}
	targets := value{dims: []int64{5}, targets: []int64{0, 0, 0, 0, 2}}
	forward := kernelCase{op: "CrossEntropy", inputs: []value{logits, targets}, dims: [][]int64{{5}, {5}}}
	l := math.Log1p(math.Exp(-1))
	forward.want = [][]sum{{{math.Ln2, 1}, {math.NaN(), 0}, {math.NaN(), 0}, {math.NaN(), 0}, {1 + l, 1}},
		{{1 + math.Ln2, 1}, {math.NaN(), 0}, {math.Inf(-1), 0}, {math.NaN(), 0}, {80 + l, 80}}}
	got := forward.build(t, d)()
	forward.check(t, got)
	dnll := value{dims: []int64{5}, floats: []float32{2, 1, 1, 0, 0}}
	lse := value{dims: []int64{5}, floats: slices.Clone(got[1])}
	backward := kernelCase{op: "CrossEntropyGrad", inputs: []value{dnll, logits, targets, lse}, dims: [][]int64{{5, 3}}}
	n := sum{math.NaN(), 0}
	backward.want = [][]sum{{{-1, 1}, {0, 0}, {1, 1}, n, n, n, n, n, n, {}, {}, {}, {}, {}, {}}}
	backward.check(t, backward.build(t, d)())
}
