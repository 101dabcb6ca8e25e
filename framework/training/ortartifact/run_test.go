package ortartifact_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// array is a tensor of the golden files.
type array struct {
	Type string
	Dims []int64
	Data []float64
}

func decode(t testing.TB, name string) *graph.Model {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	m, err := graph.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run computes the float outputs of a model in the distributed runtime, with two threads.
func run(t testing.TB, m *graph.Model, feeds map[string]array, outputs ...string) map[string][]float32 {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	dims := map[string]int64{}
	for _, v := range m.Graph.Feeds() {
		for i, d := range v.Shape {
			if d.Name != "" {
				dims[d.Name] = feeds[v.Name].Dims[i]
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
		fill(t, feed, v, feeds[v.Name].Data)
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

func fill(t testing.TB, feed *onnx.Feed, v *graph.ValueInfo, data []float64) {
	t.Helper()
	var err error
	switch v.Type {
	case graph.Float32:
		var to []float32
		to, err = feed.Float32(v.Name)
		put(to, data)
	case graph.Int32:
		var to []int32
		to, err = feed.Int32(v.Name)
		put(to, data)
	case graph.Int64:
		var to []int64
		to, err = feed.Int64(v.Name)
		put(to, data)
	case graph.Bool:
		var to []bool
		to, err = feed.Bool(v.Name)
		for i := range to {
			to[i] = data[i] != 0
		}
	default:
		t.Fatalf("input %s is %s", v.Name, v.Type)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func put[T float32 | int32 | int64](to []T, data []float64) {
	for i := range to {
		to[i] = T(data[i])
	}
}

// distance is the largest difference over the largest wanted number.
func distance(t testing.TB, want []float64, got []float32) float64 {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	worst, scale := 0.0, 1e-6
	for i := range want {
		if d := math.Abs(want[i] - float64(got[i])); !(d <= worst) {
			worst = d
		}
		scale = max(scale, math.Abs(want[i]))
	}
	return worst / scale
}
