package onnx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// TestWithStatistics: the head that a model carries to other hosts gives what sampling.Compute gives, over logits of every kind; and this
// host, which has its own, samples from such a model as from any.
func TestWithStatistics(t *testing.T) {
	for _, v := range []int{2, 17, 591, 50_000} {
		for _, shift := range []int{0, 1} {
			t.Run(fmt.Sprintf("%d-shift%d", v, shift), func(t *testing.T) {
				b, l := 3, 18
				rng := rand.New(rand.NewPCG(uint64(v), 8))
				table := tableOf(l, v, rng)
				suppress := []int32{0}
				plain, err := graph.Decode(tableModel(table, v))
				if err != nil {
					t.Fatal(err)
				}
				m, err := onnx.WithStatistics(plain, "table", v, shift, suppress)
				if err != nil {
					t.Fatal(err)
				}
				if foreign := graph.Foreign(m); len(m.Functions) > 0 || len(foreign) > 0 {
					t.Errorf("%d functions, operators %q; expected ONNX's own alone", len(m.Functions), foreign)
				}
				batch := &sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Active: make([]uint8, b*l), Params: make([]sampling.Params, b), Uniform: make([]float64, b*l)}
				ids, positions, uniform := make([]int64, b*l), make([]int64, b*l), make([]float32, b*l)
				temperature := []float32{0, 1, 0.5}
				for i := range ids {
					ids[i], positions[i], uniform[i] = rng.Int64N(int64(v)), int64(i%l), max(rng.Float32(), 1e-6)
					batch.Tokens[i], batch.Active[i], batch.Uniform[i] = ids[i], 1, float64(uniform[i])
				}
				for i := range b {
					batch.Params[i] = sampling.Params{Temperature: temperature[i], TopP: 1}
				}
				d := open(t, onnx.Model{Name: "table", Data: m.Encode(), MaskID: 0, V: v}, onnx.Options{}, sampling.Head{Needs: allNeeds, Suppress: suppress})
				sampleOnce(t, d, b, l)

				var logits []float32
				for range b {
					if shift == 1 {
						logits = append(append(logits, table[:v]...), table[:(l-1)*v]...)
					} else {
						logits = append(logits, table...)
					}
				}
				head := sampling.Head{Needs: allNeeds, Suppress: suppress}
				var want sampling.Statistics
				if err := sampling.Compute(logits, v, batch, head, &want); err != nil {
					t.Fatal(err)
				}
				names := []string{onnx.Proposal, onnx.LogpProposal, onnx.P1, onnx.P2, onnx.Entropy, onnx.LogpCurrent}
				shape := ort.NewShape(int64(b), int64(l))
				got := runNamed(t, m, names, []ort.Value{input(t, shape, ids), input(t, shape, positions), input(t, ort.NewShape(int64(b)), temperature), input(t, shape, uniform)})
				tol := 1e-5
				if v > 1024 {
					tol = 2e-4
				}
				proposal := got[0].(*ort.Tensor[int64]).GetData()
				for i, p := range proposal {
					if int32(p) != want.Proposal[i] && !nearTie(logits[i*v:(i+1)*v], head, batch, i, v, int32(p), want.Proposal[i]) {
						t.Errorf("position %d (kind %d): proposal %d, expected %d", i, i%l%9, p, want.Proposal[i])
					}
				}
				for k, column := range [][]float32{want.LogpProposal, want.P1, want.P2, want.Entropy, want.LogpCurrent} {
					for i, x := range got[k+1].(*ort.Tensor[float32]).GetData() {
						if k == 0 && int32(proposal[i]) != want.Proposal[i] {
							continue // of another token
						}
						if !same(x, column[i], tol) {
							t.Errorf("position %d: %s is %g, expected %g", i, names[k+1], x, column[i])
						}
					}
				}
			})
		}
	}
}

// sampleOnce runs the host's own head over the model.
func sampleOnce(t *testing.T, d *onnx.Denoiser, b, l int) {
	t.Helper()
	batch := batchOf(t, d, b, l)
	for i := range batch.Uniform {
		batch.Uniform[i] = 0.5
	}
	if got, err := d.Run(t.Context()); err != nil || len(got.Proposal) != b*l {
		t.Fatalf("%v", err)
	}
}

// TestEdgeOfTheUniform: a 1, which hosts get when they round, draws the last token that may be written, and 0 the first.
func TestEdgeOfTheUniform(t *testing.T) {
	plain, err := graph.Decode(tableModel([]float32{0, 1, 2, 3, 3}, 5))
	if err != nil {
		t.Fatal(err)
	}
	m, err := onnx.WithStatistics(plain, "table", 5, 0, []int32{0, 4})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, onnx.Model{Name: "table", Data: m.Encode(), MaskID: 0, V: 5}, onnx.Options{}, sampling.Head{Needs: allNeeds, Suppress: []int32{0, 4}})
	sampleOnce(t, d, 2, 1) // loads the library
	shape := ort.NewShape(2, 1)
	got := runNamed(t, m, []string{onnx.Proposal}, []ort.Value{input(t, shape, []int64{1, 1}), input(t, shape, []int64{0, 0}), input(t, ort.NewShape(2), []float32{1, 1}), input(t, shape, []float32{0, 1})})
	if drawn := got[0].(*ort.Tensor[int64]).GetData(); !slices.Equal(drawn, []int64{1, 3}) {
		t.Errorf("drew %d, expected 1 and 3", drawn)
	}
}

// TestWithStatisticsRefuses names what the head cannot stand on.
func TestWithStatisticsRefuses(t *testing.T) {
	table := []float32{0, 1, 2, 3}
	for _, c := range []struct {
		name   string
		change func(*graph.Model)
		want   string
	}{
		{"old", func(m *graph.Model) { m.Opsets[0].Version = 13 }, "needs opset 17 or newer, the model has 13"},
		{"ids of unknown rank", func(m *graph.Model) { m.Graph.Inputs[0].HasRank, m.Graph.Inputs[0].Shape = false, nil }, "the shape of input_ids is not known"},
		{"twice", func(m *graph.Model) {
			m.Graph.Inputs = append(m.Graph.Inputs, tensor("temperature", graph.Float32, graph.Named("b")))
		}, "has the head already"},
		{"a value of that name", func(m *graph.Model) { m.Graph.Nodes[0].Outputs, m.Graph.Outputs[0].Name = []string{"p1"}, "p1" }, "p1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := graph.Decode(tableModel(table, 2, c.change))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := onnx.WithStatistics(m, "table", 2, 0, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected one with %q", err, c.want)
			}
		})
	}
}

func input[T ort.TensorData](t *testing.T, shape ort.Shape, v []T) ort.Value {
	t.Helper()
	x, err := ort.NewTensor(shape, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Destroy() })
	return x
}

// runNamed runs a model for some of its outputs. The library is loaded.
func runNamed(t *testing.T, m *graph.Model, outputs []string, feeds []ort.Value) []ort.Value {
	t.Helper()
	var inputs []string
	for _, in := range m.Graph.Inputs {
		inputs = append(inputs, in.Name)
	}
	s, err := ort.NewDynamicAdvancedSessionWithONNXData(m.Encode(), inputs, outputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Destroy() //nolint:errcheck // nothing is written
	out := make([]ort.Value, len(outputs))
	if err := s.Run(feeds, out); err != nil {
		t.Fatal(err)
	}
	for _, v := range out {
		if len(v.GetShape()) != 2 {
			t.Fatalf("an output of shape %v, expected [B, L]", v.GetShape())
		}
		t.Cleanup(func() { _ = v.Destroy() })
	}
	return out
}
