package onnx_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// stemGolden is testdata/stem.py's answer.
type stemGolden struct {
	V, Mask, Rows, Length, Barred int
	Table                         []float32
	Tokens, Without               []int64
	Cases                         []struct {
		W                    float32
		Shift                int
		Logits               []*float64 // nil: -Inf
		P1, Entropy, Current []float64
	}
}

func readStem(t *testing.T) (out stemGolden) {
	t.Helper()
	goldenfile.Read(t, "testdata/stem.json.gz", &out)
	return out
}

// model gives token t row t of the table.
func (g stemGolden) model(change ...func(*graph.Model)) []byte {
	table := slices.Clone(g.Table)
	for i := range table {
		if table[i] /= 64; i%g.V == g.Barred {
			table[i] = float32(math.Inf(-1))
		}
	}
	return tableModel(table, g.V, append([]func(*graph.Model){func(m *graph.Model) {
		m.Graph.Nodes[0].Inputs[1] = "input_ids"
		m.Graph.Inputs = m.Graph.Inputs[:1]
	}}, change...)...)
}

// as changes the type of the logits and makes B and L numbers.
func as(typ graph.Type, ids graph.Type, dims ...graph.Dim) func(*graph.Model) {
	return func(m *graph.Model) {
		g := m.Graph
		if typ != graph.Float32 {
			g.Nodes[0].Outputs[0] = "wide"
			g.Nodes = append(g.Nodes, &graph.Node{Op: "Cast", Inputs: []string{"wide"}, Outputs: []string{"logits"}, Attributes: []*graph.Attribute{graph.Int("to", int64(typ))}})
			g.Outputs[0].Type = typ
		}
		g.Inputs[0].Type = ids
		if dims == nil {
			dims = rowsAndLength
		}
		g.Inputs = append(g.Inputs, tensor("attention_mask", graph.Int64, dims...), tensor("timesteps", graph.Float32, dims[0]))
		g.Inputs[0].Shape, g.Outputs[0].Shape[0], g.Outputs[0].Shape[1] = dims, dims[0], dims[1]
	}
}

// Guidance and the shift of right-shifted models are numpy's, in all heads, whatever the model's types and sizes.
func TestStemAgainstReference(t *testing.T) {
	g := readStem(t)
	needs := sampling.Needs{P1: true, Entropy: sampling.OnModel, LogpCurrent: true, Logits: true}
	for name, data := range map[string][]byte{
		"plain":               g.model(),
		"opset 13, IR 7":      g.model(func(m *graph.Model) { m.Opsets[0].Version, m.IRVersion = 13, 7 }),
		"opset 23":            g.model(func(m *graph.Model) { m.Opsets[0].Version, m.IRVersion = 23, 10 }),
		"float16, int32":      g.model(as(graph.Float16, graph.Int32)),
		"float64":             g.model(as(graph.Float64, graph.Int64)),
		"fixed, an odd row":   g.model(as(graph.Float32, graph.Int64, graph.Known(9), graph.Known(8))),
		"fixed, just enough":  g.model(as(graph.Float32, graph.Int32, graph.Known(6), graph.Known(6))),
		"fixed rows, float16": g.model(as(graph.Float16, graph.Int64, graph.Known(8), graph.Named("l"))),
	} {
		for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			if mode == onnx.HeadGraph && strings.HasPrefix(name, "opset 13") {
				continue // which the head refuses
			}
			for _, c := range g.Cases {
				t.Run(fmt.Sprintf("%s/%s/w=%g,shift=%d", name, mode, c.W, c.Shift), func(t *testing.T) {
					d := open(t, onnx.Model{Name: name, Data: data, V: g.V, MaskID: int32(g.Mask), LogitsShift: c.Shift},
						onnx.Options{Head: mode, Threads: 1, Warmup: true}, sampling.Head{Needs: needs, Suppress: []int32{int32(g.Mask)}, Guidance: c.W})
					b := batchOf(t, d, g.Rows, g.Length)
					copy(b.Tokens, g.Tokens)
					if (b.Unconditional != nil) != (c.W != 0) {
						t.Fatalf("w = %g, and Unconditional has %d tokens", c.W, len(b.Unconditional))
					}
					copy(b.Unconditional, g.Without)
					st := runOf(t, d)
					for i, want := range c.Logits {
						x := math.Inf(-1)
						if want != nil {
							x = *want
						}
						if !same(st.Logits[i], float32(x), 1e-6) {
							t.Fatalf("logit %d of position %d: %g, numpy gives %g", i%g.V, i/g.V, st.Logits[i], x)
						}
					}
					for i := range g.Tokens {
						for k, pair := range [][2]float64{{float64(st.P1[i]), c.P1[i]}, {float64(st.Entropy[i]), c.Entropy[i]}, {float64(st.LogpCurrent[i]), c.Current[i]}} {
							if !same(float32(pair[0]), float32(pair[1]), 1e-5) {
								t.Errorf("position %d, statistic %d: %g, numpy gives %g", i, k, pair[0], pair[1])
							}
						}
					}
				})
			}
		}
	}
}

// A row that is its own unconditional row keeps its logits to the bit, whatever the guidance.
func TestGuidanceOfEqualRowsChangesNothing(t *testing.T) {
	g := readStem(t)
	var want []float32
	for _, w := range []float32{0, 0.3, 7} {
		d := open(t, onnx.Model{Name: "table", Data: g.model(), V: g.V}, onnx.Options{}, sampling.Head{Needs: sampling.Needs{Logits: true}, Guidance: w})
		b := batchOf(t, d, g.Rows, g.Length)
		copy(b.Tokens, g.Tokens)
		copy(b.Unconditional, g.Tokens)
		got := slices.Clone(runOf(t, d).Logits)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("w = %g: %v, want %v", w, got, want)
		}
	}
}

// What a model cannot run in these ways is refused before anything runs, with what to do.
func TestStemRefuses(t *testing.T) {
	g := readStem(t)
	placed := func(dims ...graph.Dim) []byte { // a model that could give leave-one-out probabilities but for its sizes
		return g.model(as(graph.Float32, graph.Int64, dims...), func(m *graph.Model) {
			square := []graph.Dim{dims[0], graph.Known(1), dims[1], dims[1]}
			m.Graph.Inputs = append(m.Graph.Inputs, tensor("position_ids", graph.Int64, dims...), tensor("attention_bias", graph.Float32, square...))
		})
	}
	free := []graph.Dim{graph.Named("b"), graph.Named("l")}
	alone := sampling.Needs{LogpLeaveOneOut: true}
	for name, test := range map[string]struct {
		data   []byte
		shift  int
		head   sampling.Head
		want   string
		serves bool
	}{
		"one row": {g.model(as(graph.Float32, graph.Int64, graph.Known(1), graph.Known(6))), 0, sampling.Head{Guidance: 1},
			"guidance runs each row twice side by side, and the model was exported for 1 row; set sampling.cfg_scale to 0", false},
		"no number":    {g.model(), 0, sampling.Head{Guidance: float32(math.Inf(1))}, "guidance of +Inf", false},
		"old opset":    {g.model(func(m *graph.Model) { m.Opsets[0].Version = 12 }), 1, sampling.Head{}, "need opset 13 or newer, the model has 12", false},
		"no bias":      {g.model(), 0, sampling.Head{Needs: alone}, "inputs attention_bias float32 [B, 1, L, L], added to the attention scores, and position_ids", false},
		"fixed length": {placed(graph.Named("b"), graph.Known(6)), 0, sampling.Head{Needs: alone}, "exported for 6 positions; export it with any length", false},
		"shifted":      {placed(free...), 1, sampling.Head{Needs: alone}, "its logits are shifted", false},
		"fine":         {placed(free...), 0, sampling.Head{Needs: alone}, "", true},
	} {
		d, err := onnx.Open(t.Context(), onnx.Model{Name: "m", Data: test.data, V: g.V, LogitsShift: test.shift}, onnx.Options{Head: onnx.HeadFused})
		if err != nil {
			t.Fatal(name, err)
		}
		if caps := d.Capabilities(); caps.Serves.LogpLeaveOneOut != test.serves {
			t.Errorf("%s: capabilities say %t for leave-one-out", name, caps.Serves.LogpLeaveOneOut)
		}
		switch err := d.Configure(t.Context(), test.head); {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Guidance halves the batch of a model with a fixed one.
func TestGuidanceHalvesTheBatch(t *testing.T) {
	g := readStem(t)
	d := open(t, onnx.Model{Name: "m", Data: g.model(as(graph.Float32, graph.Int64, graph.Known(5), graph.Known(6))), V: g.V}, onnx.Options{}, sampling.Head{Guidance: 1})
	if caps := d.Capabilities(); caps.MaxRows != 2 {
		t.Errorf("at most %d rows, want 2", caps.MaxRows)
	}
	if _, err := d.Batch(3, 6); err == nil || !strings.Contains(err.Error(), "use --batch 2") {
		t.Errorf("a batch of 3 rows: %v", err)
	}
}

// Statistics with memory and edits of the logits come behind guidance, the same in all heads, pass after pass.
func TestGuidanceBeforeMemoryAndEdits(t *testing.T) {
	g := readStem(t)
	head := sampling.Head{Needs: sampling.Needs{P1: true, KLPrev: true, LogpCurrent: true, TopK: 2}, Suppress: []int32{int32(g.Mask)}, Guidance: 0.75,
		Edits: sampling.Edits{Bias: []sampling.Bias{{Token: 2, Value: 1.5}}, Repetition: 1.3, Credit: sampling.Credit{Alpha: 0.7, Gamma: 0.2, Beta: 0.8}}}
	fixed := g.model(as(graph.Float32, graph.Int64, graph.Known(7), graph.Known(8)))
	var want []string
	for name, data := range map[string][]byte{"free": g.model(as(graph.Float32, graph.Int64)), "fixed": fixed} {
		for _, mode := range []string{onnx.HeadGo, onnx.HeadFused, onnx.HeadGraph} {
			d := open(t, onnx.Model{Name: name, Data: data, V: g.V, MaskID: int32(g.Mask)}, onnx.Options{Head: mode, Threads: 1}, head)
			for pass := range 3 {
				b := batchOf(t, d, g.Rows, g.Length)
				for i := range g.Rows {
					b.Slots[i], b.Fresh[i] = int32(2-i), 0
					if pass == 0 {
						b.Fresh[i] = 1
					}
				}
				copy(b.Tokens, g.Tokens)
				copy(b.Unconditional, g.Without)
				b.Tokens[pass], b.Tokens[7] = 1, int64(pass)
				st := runOf(t, d)
				got := fmt.Sprint(st.Proposal, st.TopIDs)
				for _, s := range [][]float32{st.P1, st.KLPrev, st.LogpCurrent} {
					for _, x := range s {
						got += fmt.Sprintf(" %.4f", x+1e-9)
					}
				}
				if len(want) == pass {
					want = append(want, got)
				}
				if got != want[pass] {
					t.Errorf("%s/%s, pass %d:\n%s\nwant\n%s", name, mode, pass, got, want[pass])
				}
			}
		}
	}
	if want[0] == want[1] || want[1] == want[2] {
		t.Error("the passes do not differ, so that nothing was tested")
	}
}
