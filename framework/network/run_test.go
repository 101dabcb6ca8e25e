package network_test

import (
	"fmt"
	"math"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// device is the CPU with two threads, closed with the test.
func device(t testing.TB) *onnx.Device {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// valid fills a config, which must be right.
func valid(t testing.TB, c network.Config) network.Config {
	t.Helper()
	c = c.Filled()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// rows is a batch: what is nil is not an input of the graph.
type rows struct {
	b, l            int
	ids, mask, at   []int64
	times           []float32
	fixedB, fixedL  bool
	opset           int64
	parametersInput bool // feed the parameters instead of storing them
}

// logits builds the network for the batch's inputs and runs it once.
func logits(t testing.TB, c network.Config, values network.Values, r rows) []float32 {
	t.Helper()
	if r.opset == 0 {
		r.opset = graph.DefaultOpset
	}
	b := graph.NewBuilder("test", r.opset)
	size := func(n int, fixed bool, name string) graph.Dim {
		if fixed {
			return graph.Known(int64(n))
		}
		return graph.Named(name)
	}
	batch, length := size(r.b, r.fixedB, "B"), size(r.l, r.fixedL, "L")
	params, inputs := map[string]graph.Value{}, map[string]graph.Value{}
	for _, p := range network.Params(c) {
		if t := graph.OfFloats(p.Name, p.Shape, values[p.Name]); r.parametersInput {
			shape := make([]graph.Dim, len(p.Shape))
			for i, d := range p.Shape {
				shape[i] = graph.Known(d)
			}
			params[p.Name] = b.Input(p.Name, graph.Float32, shape...)
		} else {
			params[p.Name] = b.Initializer(t)
		}
	}
	ints := map[string][]int64{"input_ids": r.ids, "attention_mask": r.mask, "position_ids": r.at}
	for _, name := range []string{"input_ids", "attention_mask", "position_ids"} {
		if ints[name] != nil {
			inputs[name] = b.Input(name, graph.Int64, batch, length)
		}
	}
	if r.times != nil {
		inputs["timesteps"] = b.Input("timesteps", graph.Float32, batch)
	}
	out := network.Build(b, c, params, inputs)
	m, err := b.Model(graph.Output{Name: "logits", Value: out["logits"]})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint(graph.Dims(batch, length, c.VocabSize))
	if got := fmt.Sprint(out["logits"].Shape()); got != want {
		t.Fatalf("logits have shape %s, want %s", got, want)
	}
	floats := map[string][]float32{"timesteps": r.times}
	if r.parametersInput {
		for name, v := range values {
			floats[name] = v
		}
	}
	return run(t, m, r, ints, floats)
}

// run computes the model's logits.
func run(t testing.TB, m *graph.Model, r rows, ints map[string][]int64, floats map[string][]float32) []float32 {
	t.Helper()
	return runAll(t, m, r, ints, floats, "logits")["logits"]
}

// runAll computes outputs of the model.
func runAll(t testing.TB, m *graph.Model, r rows, ints map[string][]int64, floats map[string][]float32, outputs ...string) map[string][]float32 {
	t.Helper()
	p, err := device(t).NewProgram(t.Context(), onnx.Model{Name: "test", Data: m.Encode()},
		onnx.ProgramOptions{Outputs: outputs, Dims: map[string]int64{"B": int64(r.b), "L": int64(r.l)}})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range ints {
		if v != nil {
			to, err := feed.Int64(name)
			if err != nil || copy(to, v) != len(v) {
				t.Fatal(name, err)
			}
		}
	}
	for name, v := range floats {
		if v != nil {
			to, err := feed.Float32(name)
			if err != nil || copy(to, v) != len(v) {
				t.Fatal(name, err)
			}
		}
	}
	if err := p.Run(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for _, name := range outputs {
		values, err := p.Output(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = append([]float32{}, values...)
	}
	return out
}

// near compares logits element by element; NaN is near nothing.
func near(t testing.TB, what string, want, got []float32, tolerance float64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d logits, want %d", what, len(got), len(want))
	}
	worst, at := 0.0, -1
	for i := range want {
		if d := math.Abs(float64(want[i]) - float64(got[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("%s: logit %d is %g, want %g within %g", what, at, got[at], want[at], tolerance)
	}
}
