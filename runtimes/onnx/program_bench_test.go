package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// BenchmarkKernels times each fused kernel against the function of stock operators that it stands for, by turns.
func BenchmarkKernels(b *testing.B) {
	for _, c := range []struct {
		op          string
		rows, width int64
	}{
		{"GeluGrad", 5184, 512}, {"SiluGrad", 5184, 512}, {"Silu", 5184, 512}, {"SwiGLU", 5184, 512}, {"SwiGLUGrad", 5184, 512},
		{"LayerNormGrad", 5184, 128}, {"RMSNormGrad", 5184, 128}, {"LayerNormGrad", 5184, 512}, {"SoftmaxGrad", 20736, 81}, {"CrossEntropy", 5184, 64}, {"CrossEntropyGrad", 5184, 64},
		{"CrossEntropy", 512, 8192}, {"CrossEntropyGrad", 512, 8192}, {"AdamW", 1200, 999},
	} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/%dx%d/%d", c.op, c.rows, c.width, threads), func(b *testing.B) {
				k := kernelReferences[c.op](rand.New(rand.NewPCG(1, 1)), c.rows, c.width, 1)
				k.op = c.op
				f := functionOf(b, k)
				// Eight calls, because a run costs some 20 µs by itself, and a kernel's input is seldom in the cache.
				fused := k.chain(b, device(b, onnx.Options{Threads: threads}), 8, f)
				standard := k.chain(b, device(b, onnx.Options{Threads: threads, Kernels: onnx.KernelsStandard}), 8, f)
				wall, cpu := ratio(b, fused, standard)
				b.ReportMetric(wall, "wall-ratio")
				b.ReportMetric(cpu, "cpu-ratio")
			})
		}
	}
}

// chain makes a program of n calls whose results it does not return, and returns a function that runs it.
func (c *kernelCase) chain(b *testing.B, d *onnx.Device, n int, f *graph.Function) func() {
	b.Helper()
	g := &graph.Graph{Name: c.op}
	o := onnx.ProgramOptions{Outputs: []string{"sum"}}
	var sums []string
	// Calls share nothing large, or the runtime would compute what they have in common once.
	own := func(k int) bool { return len(c.inputs[k].floats) > 4 }
	for i := range n {
		call := &graph.Node{Op: c.op, Domain: "mdm", Attributes: c.attributes}
		for k, v := range c.inputs {
			name, typ, shape := fmt.Sprintf("in%d", k), graph.Float32, []graph.Dim{}
			if v.targets != nil {
				typ = graph.Int64
			}
			if own(k) {
				name = fmt.Sprintf("in%d.%d", k, i)
			}
			for _, n := range v.dims {
				shape = append(shape, graph.Known(n))
			}
			if call.Inputs = append(call.Inputs, name); own(k) || i == 0 {
				g.Inputs = append(g.Inputs, tensor(name, typ, shape...))
			}
		}
		for k := range c.dims {
			call.Outputs = append(call.Outputs, fmt.Sprintf("out%d.%d", k, i))
		}
		g.Nodes = append(g.Nodes, call)
		// One element of each output keeps it alive.
		for k, name := range call.Outputs {
			one := fmt.Sprintf("one%d.%d", k, i)
			g.Nodes = append(g.Nodes, node("Reshape", []string{name, "flat"}, []string{one + "f"}), node("Gather", []string{one + "f", "zero"}, []string{one}))
			sums = append(sums, one)
		}
	}
	g.Initializers = []*graph.Tensor{graph.OfInts("flat", []int64{1}, []int64{-1}), graph.OfInts("zero", nil, []int64{0})}
	g.Nodes = append(g.Nodes, node("Sum", sums, []string{"sum"}))
	g.Outputs = []*graph.ValueInfo{floats("sum")}
	m := graph.Model{IRVersion: 9, Opsets: []graph.Opset{{Version: 20}, {Domain: "mdm", Version: 1}}, Functions: []*graph.Function{f}, Graph: g}
	p := must[*onnx.Program](b)(d.NewProgram(b.Context(), onnx.Model{Name: c.op, Data: m.Encode()}, o))
	feed := must[*onnx.Feed](b)(p.NewFeed())
	for k, v := range c.inputs {
		for i := range n {
			name := fmt.Sprintf("in%d", k)
			if own(k) {
				name = fmt.Sprintf("in%d.%d", k, i)
			}
			if v.targets != nil {
				copy(must[[]int64](b)(feed.Int64(name)), v.targets)
			} else {
				copy(must[[]float32](b)(feed.Float32(name)), v.floats)
			}
		}
	}
	return func() {
		if err := p.Run(b.Context(), feed); err != nil {
			b.Fatal(err)
		}
	}
}
