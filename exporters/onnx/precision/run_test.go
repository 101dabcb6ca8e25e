package precision_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fatal is what testing.T and rapid.T share.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// device is the CPU with two threads.
func device(t *testing.T) *onnx.Device {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// run computes all outputs of a model, by name; dims are the sizes of its named dimensions.
func run(ctx *testing.T, t fatal, d *onnx.Device, m *graph.Model, dims map[string]int64, ints map[string][]int64, floats map[string][]float32) map[string][]float32 {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	var outputs []string
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, o.Name)
	}
	p, err := d.NewProgram(ctx.Context(), onnx.Model{Name: "test", Data: m.Encode()}, onnx.ProgramOptions{Outputs: outputs, Dims: dims})
	must(err)
	defer p.Close()
	feed, err := p.NewFeed()
	must(err)
	defer feed.Close()
	for name, v := range ints {
		to, err := feed.Int64(name)
		must(err)
		copy(to, v)
	}
	for name, v := range floats {
		to, err := feed.Float32(name)
		must(err)
		copy(to, v)
	}
	must(p.Run(ctx.Context(), feed))
	out := map[string][]float32{}
	for _, name := range outputs {
		v, err := p.Output(name)
		must(err)
		out[name] = slices.Clone(v)
	}
	return out
}

// count is how often a graph has an operator.
func count(m *graph.Model, op string) (n int) {
	for _, node := range m.Graph.Nodes {
		if node.Op == op {
			n++
		}
	}
	return n
}
