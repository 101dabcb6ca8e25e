package foreign_test

import (
	"math"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/foreign"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// batch is the input of a denoiser.
type batch struct {
	rows, length int
	ids, mask    []int64
	times        []float32
	params       map[string][]float32
}

func read(t testing.TB, path string) *graph.Model {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := graph.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func network(t testing.TB, m *graph.Model, o foreign.Options) (*foreign.Network, *foreign.Report) {
	t.Helper()
	n, report, err := foreign.Read(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return n, report
}

// built writes the network once, with constants as parameters.
func built(t testing.TB, n *foreign.Network, values [][]float32) *graph.Model {
	t.Helper()
	b := graph.NewBuilder("test", n.Opset())
	params, inputs := map[string]graph.Value{}, map[string]graph.Value{}
	for i, p := range n.Parameters() {
		params[p.Name] = b.Initializer(graph.OfFloats(p.Name, p.Shape, values[i]))
	}
	for _, p := range n.Signature().Inputs {
		inputs[p.Name] = b.Input(p.Name, p.Type, p.Shape...)
	}
	m, err := b.Model(graph.Output{Name: "logits", Value: n.Build(b, params, inputs)["logits"]})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run computes the float outputs of a model. What is not in the batch is what a denoiser's inputs are by default.
func run(t testing.TB, m *graph.Model, in batch, outputs ...string) map[string][]float32 {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	dims := map[string]int64{}
	for _, v := range m.Graph.Inputs {
		for i, d := range v.Shape {
			if d.Name != "" {
				dims[d.Name] = int64([]int{in.rows, in.length}[i])
			}
		}
	}
	p, err := d.NewProgram(t.Context(), onnx.Model{Name: "test", Data: m.Encode()}, onnx.ProgramOptions{Outputs: outputs, Dims: dims})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Graph.Feeds() {
		fill(t, feed, v, in)
	}
	if err := p.Run(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for _, name := range outputs {
		v, err := p.Output(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = append([]float32{}, v...)
	}
	return out
}

func fill(t testing.TB, feed *onnx.Feed, v *graph.ValueInfo, in batch) {
	t.Helper()
	var err error
	switch v.Type {
	case graph.Float32:
		var to []float32
		if to, err = feed.Float32(v.Name); err == nil {
			copy(to, in.floats(v.Name))
		}
	case graph.Int32:
		var to []int32
		if to, err = feed.Int32(v.Name); err == nil {
			for i := range to {
				to[i] = int32(in.at(v.Name, i))
			}
		}
	default:
		var to []int64
		if to, err = feed.Int64(v.Name); err == nil {
			for i := range to {
				to[i] = in.at(v.Name, i)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (in *batch) at(name string, i int) int64 {
	switch name {
	case "input_ids":
		return in.ids[i]
	case "attention_mask":
		return in.mask[i]
	case "position_ids":
		return int64(i % in.length)
	}
	return 0
}

func (in *batch) floats(name string) []float32 {
	switch name {
	case "timesteps":
		return in.times
	case "attention_mask":
		out := make([]float32, len(in.mask))
		for i, v := range in.mask {
			out[i] = float32(v)
		}
		return out
	}
	return in.params[name]
}

// logits are those of a model.
func logits(t testing.TB, m *graph.Model, in batch) []float32 {
	t.Helper()
	return run(t, m, in, "logits")["logits"]
}

// worst is the largest difference.
func worst(t testing.TB, want, got []float32) float64 {
	t.Helper()
	if len(want) == 0 || len(want) != len(got) {
		t.Fatalf("%d logits, want %d", len(got), len(want))
	}
	w := 0.0
	for i := range want {
		if d := math.Abs(float64(want[i]) - float64(got[i])); !(d <= w) {
			w = d
		}
	}
	return w
}

// golden is testdata/golden.json.gz.
type golden struct {
	Rows, Length int
	IDs, Mask    []int64
	Models       map[string]struct {
		Logits    []float32
		Gradients map[string][]float32 // of sum_i sin(i) logits_i
		Shapes    map[string][]int64
	}
}

func readGolden(t testing.TB) (g golden, in batch) {
	t.Helper()
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	return g, batch{rows: g.Rows, length: g.Length, ids: g.IDs, mask: g.Mask}
}
