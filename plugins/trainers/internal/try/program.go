package try

import (
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Program makes what a builder wrote ready to run on so many threads of the CPU, with sizes for the names of dimensions. run takes
// the numbers of every input by name and returns the outputs, which are float32; numbers for no input are left over.
func Program(t testing.TB, b *graph.Builder, outputs []graph.Output, sizes map[string]int64, threads int) (run func(feeds map[string][]float64) map[string][]float32) {
	t.Helper()
	device, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: threads, Kernels: onnx.KernelsStandard})
	if err != nil {
		t.Fatal(err)
	}
	program, run := compile(t, device, b, outputs, sizes)
	t.Cleanup(func() {
		_ = program.Close()
		_ = device.Close()
	})
	return run
}

// compile is [Program] on a device that is open; the caller closes the program.
func compile(t testing.TB, device *onnx.Device, b *graph.Builder, outputs []graph.Output, sizes map[string]int64) (*onnx.Program, func(map[string][]float64) map[string][]float32) {
	t.Helper()
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(outputs))
	for i, o := range outputs {
		names[i] = o.Name
	}
	program, err := device.NewProgram(t.Context(), onnx.Model{Name: b.Name(), Data: m.Encode()}, onnx.ProgramOptions{Outputs: names, Dims: sizes})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := program.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	return program, func(feeds map[string][]float64) map[string][]float32 {
		t.Helper()
		for _, v := range b.Inputs() {
			fill(t, feed, v, feeds[v.Name()])
		}
		if err := program.Run(t.Context(), feed); err != nil {
			t.Fatal(err)
		}
		out := map[string][]float32{}
		for _, name := range names {
			v, err := program.Output(name)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = slices.Clone(v)
		}
		return out
	}
}
