package genmd4_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/genmd4"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// golden is golden.json.gz.
type golden struct {
	Cases []goldenCase
	Toy   toy
}

// goldenCase is a batch with what both graphs must give. "a.ids" and "a.timesteps" are what the denoiser is called with first.
type goldenCase struct {
	Name           string
	Options        json.RawMessage
	V              int
	Mask, Pad      int64
	Suppressed     []int64
	Rows, Length   int64
	Feeds          map[string][]float64
	Training, Eval map[string][]float64
	Naive          []float64 // gradient of the exponents' parameters without the score term
}

// toy is a table denoiser of one row, every mask of it, and the reference's integrals.
type toy struct {
	Tokens, Raw    []float64
	Masks, Logits  [][]float64 // of the 8 masks: [N], [N m]
	T1             float64
	Times          []toyTime
	Nodes, Weights []float64 // a quadrature of (0, 1)
	Exact          float64   // the bound
	Polynomial     float64   // the bound of equal exponents
}

type toyTime struct {
	Time, T            float64 // as it is fed, and what the trainer makes of it
	Q, Gradient, Value []float64
}

func readGolden(t testing.TB) golden {
	t.Helper()
	var g golden
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	return g
}

// reply asks the trainer for the case's graphs.
func (c *goldenCase) reply(t testing.TB) *spec.Reply {
	t.Helper()
	task := spec.Task{Options: c.Options, V: c.V, MaskID: c.Mask, PadID: c.Pad, Suppressed: c.Suppressed, Denoiser: try.Denoiser(c.V, true), Opset: graph.DefaultOpset}
	reply, err := genmd4.New().Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Check(&task, reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// program is one of a trainer's graphs with the denoiser's answers as inputs: "logits.a" for the first call, "logits.b" for the second.
type program struct {
	*onnx.Program
	inputs, outputs []string
}

// compile puts inputs in the place of the denoiser and adds the gradients of a loss by them and by the exponents' parameters.
func (c *goldenCase) compile(t testing.TB, d *onnx.Device, file []byte) program {
	t.Helper()
	m, err := graph.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(c.Name, graph.DefaultOpset)
	bind, p := map[string]graph.Value{}, program{}
	for _, v := range m.Graph.Feeds() {
		bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
		p.inputs = append(p.inputs, v.Name)
	}
	var outputs []graph.Output
	var answers []graph.Value
	values := b.Replay(m, bind, func(n *graph.Node, in []graph.Value) []graph.Value {
		if graph.Key(n) != "mdm.Network" {
			return nil
		}
		call := string(rune('a' + len(answers)))
		for i, name := range n.Attribute("inputs").Strings {
			if to := map[string]string{"input_ids": ".ids", "timesteps": ".timesteps"}[string(name)]; to != "" {
				outputs = append(outputs, graph.Output{Name: call + to, Value: b.Cast(b.Identity(in[i]), graph.Float32)})
			}
		}
		answers = append(answers, b.Input("logits."+call, graph.Float32, graph.Dims("B", "L", c.V)...))
		p.inputs = append(p.inputs, "logits."+call)
		return answers[len(answers)-1:]
	})
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, graph.Output{Name: o.Name, Value: values[o.Name]})
	}
	if loss, ok := values[spec.Loss]; ok {
		grads, err := autodiff.Gradients(b, loss, append([]graph.Value{bind[spec.RawExponents]}, answers...), autodiff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"grad.raw", "grad.a", "grad.b"} {
			outputs = append(outputs, graph.Output{Name: name, Value: grads[i]})
		}
	}
	for _, o := range outputs {
		p.outputs = append(p.outputs, o.Name)
	}
	whole, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	p.Program, err = d.NewProgram(t.Context(), onnx.Model{Name: c.Name, Data: whole.Encode()}, onnx.ProgramOptions{Outputs: p.outputs, Dims: map[string]int64{"B": c.Rows, "L": c.Length}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// run feeds numbers by the names of inputs and returns the outputs.
func (p program) run(t testing.TB, feeds map[string][]float64) map[string][]float32 {
	t.Helper()
	feed, err := p.NewFeed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = feed.Close() }()
	for _, name := range p.inputs {
		numbers, n := feeds[name], 0
		if f, err := feed.Float32(name); err == nil {
			n = len(f)
			for i := range min(n, len(numbers)) {
				f[i] = float32(numbers[i])
			}
		} else if ids, err := feed.Int64(name); err == nil {
			n = len(ids)
			for i := range min(n, len(numbers)) {
				ids[i] = int64(numbers[i])
			}
		} else {
			bits, err := feed.Bool(name)
			if err != nil {
				t.Fatal(err)
			}
			n = len(bits)
			for i := range min(n, len(numbers)) {
				bits[i] = numbers[i] != 0
			}
		}
		if n != len(numbers) {
			t.Fatalf("input %s: %d numbers, the graph takes %d", name, len(numbers), n)
		}
	}
	if err := p.Run(t.Context(), feed); err != nil {
		t.Fatal(err)
	}
	out := map[string][]float32{}
	for _, name := range p.outputs {
		v, err := p.Output(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = slices.Clone(v)
	}
	return out
}
