// Package try runs the graphs of trainers on given noise, with given logits in the place of the network, and holds what
// comes out against golden files.
package try

import (
	"encoding/json"
	"maps"
	"math"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Case is one entry of a golden file: a task, everything that the host feeds by the names of inputs, the logits that the
// denoiser gives, and what each graph's outputs must be. "ids" and "timesteps" among them are what the denoiser is called with,
// "planner.ids" and "planner.masked" what a network named planner is.
type Case struct {
	Name         string
	Options      json.RawMessage
	V            int
	Mask, Pad    int64
	Suppressed   []int64
	TakesTime    bool `json:"takes_time"`
	Rows, Length int64
	Feeds        map[string][]float64
	Logits       []float64 // [B, L, V]
	Planner      []float64 // of a network named planner: [B, L, V], or [B, L] for one that gives keep
	Training     map[string][]float64
	Eval         map[string][]float64
	Grad         []float64 // of the loss for the logits, or for what the planner gives
}

// Golden reads a golden file.
func Golden(t testing.TB, path string) []Case {
	t.Helper()
	var cases []Case
	goldenfile.Read(t, path, &cases)
	for i := range cases {
		cases[i].Training["grad"] = cases[i].Grad
	}
	return cases
}

// Device is one thread of the CPU with the standard kernels, closed with the test.
func Device(t testing.TB) *onnx.Device {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1, Kernels: onnx.KernelsStandard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Reference holds both graphs of a trainer against every case of a golden file.
func Reference(t *testing.T, path string, trainer func() spec.Trainer) {
	t.Helper()
	d := Device(t)
	for _, c := range Golden(t, path) {
		t.Run(c.Name, func(t *testing.T) {
			reply := c.Build(t, trainer())
			Compare(t, "training", c.Run(t, d, reply.Training), c.Training)
			Compare(t, "eval", c.Run(t, d, reply.Eval), c.Eval)
		})
	}
}

// Denoiser is the signature of a network with an attention mask and, if asked, the time.
func Denoiser(v int, takesTime bool) graph.Signature {
	s := graph.Signature{
		Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("batch", "sequence")},
			{Name: "attention_mask", Type: graph.Int64, Shape: graph.Dims("batch", "sequence")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("batch", "sequence", v)}},
	}
	if takesTime {
		s.Inputs = append(s.Inputs, graph.Port{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("batch")})
	}
	return s
}

// Task is what the host would say of the case.
func (c *Case) Task() spec.Task {
	return spec.Task{Options: c.Options, V: c.V, MaskID: c.Mask, PadID: c.Pad, Suppressed: c.Suppressed, Denoiser: Denoiser(c.V, c.TakesTime), Opset: graph.DefaultOpset}
}

// Build asks a trainer for the case's graphs.
func (c *Case) Build(t testing.TB, trainer spec.Trainer) *spec.Reply {
	t.Helper()
	reply, err := trainer.Build(t.Context(), c.Task())
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// Run runs one of a reply's graphs on the case's feeds and returns its outputs as numbers; beside them stand what the denoiser
// is called with and, for a loss, its gradient for the logits (for the planner's output, where there is a planner), "grad".
func (c *Case) Run(t testing.TB, device *onnx.Device, file []byte) map[string][]float32 {
	t.Helper()
	m, err := graph.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(c.Name, graph.DefaultOpset)
	bind := map[string]graph.Value{}
	for _, v := range m.Graph.Feeds() {
		bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
	}
	logits := b.Input("logits", graph.Float32, graph.Dims("B", "L", c.V)...)
	trained := logits
	if c.Planner != nil {
		shape := graph.Dims("B", "L", c.V)
		if int64(len(c.Planner)) == c.Rows*c.Length {
			shape = shape[:2]
		}
		trained = b.Input("planner", graph.Float32, shape...)
	}
	var outputs []graph.Output
	values := b.Replay(m, bind, func(n *graph.Node, in []graph.Value) []graph.Value {
		if graph.Key(n) != "mdm.Network" {
			return nil
		}
		for i, name := range n.Attribute("inputs").Strings {
			if to := map[string]string{"input_ids": "ids", "timesteps": "timesteps", "masked": "masked"}[string(name)]; to != "" {
				if network := n.TextAttr("name", ""); network != spec.Denoiser {
					to = network + "." + to
				}
				outputs = append(outputs, graph.Output{Name: to, Value: b.Cast(b.Identity(in[i]), graph.Float32)})
			}
		}
		if n.TextAttr("name", "") == "planner" {
			return []graph.Value{trained}
		}
		return []graph.Value{logits}
	})
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, graph.Output{Name: o.Name, Value: values[o.Name]})
	}
	if loss, ok := values[spec.Loss]; ok {
		grads, err := autodiff.Gradients(b, loss, []graph.Value{trained}, autodiff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, graph.Output{Name: "grad", Value: grads[0]})
	}
	feeds := maps.Clone(c.Feeds)
	feeds["logits"], feeds["planner"] = c.Logits, c.Planner
	program, run := compile(t, device, b, outputs, map[string]int64{"B": c.Rows, "L": c.Length})
	defer func() { _ = program.Close() }()
	return run(feeds)
}

// fill writes an input; numbers that the case does not have are a mistake in the golden file.
func fill(t testing.TB, feed *onnx.Feed, v graph.Value, numbers []float64) {
	t.Helper()
	var n int
	var err error
	switch v.Type() {
	case graph.Float32:
		n, err = convert(feed.Float32, v.Name(), numbers, func(x float64) float32 { return float32(x) })
	case graph.Int64:
		n, err = convert(feed.Int64, v.Name(), numbers, func(x float64) int64 { return int64(x) })
	case graph.Bool:
		n, err = convert(feed.Bool, v.Name(), numbers, func(x float64) bool { return x != 0 })
	}
	if err != nil {
		t.Fatal(err)
	}
	if n != len(numbers) {
		t.Fatalf("input %s: %d numbers in the golden file, the graph takes %d", v, len(numbers), n)
	}
}

func convert[T any](buffer func(string) ([]T, error), name string, from []float64, to func(float64) T) (int, error) {
	dst, err := buffer(name)
	for i := range min(len(dst), len(from)) {
		dst[i] = to(from[i])
	}
	return len(dst), err
}

// Compare holds outputs against the golden numbers: no output more or less, and equal within 1e-5, relative for numbers above 1e-2.
func Compare(t testing.TB, which string, got map[string][]float32, want map[string][]float64) {
	t.Helper()
	for name := range got {
		if _, ok := want[name]; !ok && name != "timesteps" {
			t.Errorf("%s: output %s is not in the golden file", which, name)
		}
	}
	for name, w := range want {
		g, ok := got[name]
		if !ok || len(g) != len(w) {
			t.Errorf("%s: output %s has %d numbers, want %d", which, name, len(g), len(w))
			continue
		}
		for i := range w {
			if d := math.Abs(float64(g[i]) - w[i]); !(d <= 1e-5*max(math.Abs(w[i]), 1e-2)) {
				t.Errorf("%s: %s[%d] is %.9g, want %.9g", which, name, i, g[i], w[i])
			}
		}
	}
}
