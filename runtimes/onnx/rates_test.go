package onnx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// What the model of growing says of a gap before a token, and of a token.
var gapOf, maskOf = []float32{.5, 7, 2, 4}, []float32{1, .25, 3, 8}

// growing is an insertion model of 4 tokens: a gap's rate is that of the token behind it, and that of the gap behind all is that
// of the padding, token 1, so that what is behind the row's end does not depend on how far the row is padded.
func growing(typ graph.Type, b, l graph.Dim) []byte {
	gather := func(table, to string) *graph.Node {
		return &graph.Node{Op: "Gather", Inputs: []string{table, "input_ids"}, Outputs: []string{to}}
	}
	cast := func(from, to string, typ graph.Type) *graph.Node {
		return &graph.Node{Op: "Cast", Inputs: []string{from}, Outputs: []string{to}, Attributes: []*graph.Attribute{graph.Int("to", int64(typ))}}
	}
	table := make([]float32, 16)
	for i := range table {
		table[i] = float32(i%5) - float32(i/4)
	}
	m := &graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name: "growing",
		Nodes: []*graph.Node{gather("table", "logits"), gather("gap_of", "gaps"), gather("mask_of", "masks"), cast("attention_mask", "shown", graph.Float32),
			{Op: "ReduceMax", Inputs: []string{"shown"}, Outputs: []string{"one"}, Attributes: []*graph.Attribute{graph.Ints("axes", 1)}},
			{Op: "Mul", Inputs: []string{"one", "seven"}, Outputs: []string{"tail"}},
			{Op: "Concat", Inputs: []string{"gaps", "tail"}, Outputs: []string{"all"}, Attributes: []*graph.Attribute{graph.Int("axis", 1)}},
			cast("all", "insertion_rate", typ), cast("masks", "unmask_rate", typ)},
		Initializers: []*graph.Tensor{graph.OfFloats("table", []int64{4, 4}, table), graph.OfFloats("gap_of", []int64{4}, gapOf),
			graph.OfFloats("mask_of", []int64{4}, maskOf), graph.OfFloats("seven", nil, []float32{7})},
		Inputs: []*graph.ValueInfo{tensor("input_ids", graph.Int64, b, l), tensor("attention_mask", graph.Int64, b, l)},
		Outputs: []*graph.ValueInfo{tensor("logits", graph.Float32, b, l, graph.Known(4)), tensor("insertion_rate", typ, b, graph.Named("gaps")),
			tensor("unmask_rate", typ, b, l)},
	}}
	return m.Encode()
}

// Rates come out of the run that computes the statistics, whatever their type, the head, and the dimensions of the export.
func TestRates(t *testing.T) {
	for _, typ := range []graph.Type{graph.Float32, graph.Float16, graph.Float64} {
		for _, head := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
			for _, dims := range [][2]graph.Dim{{graph.Named("b"), graph.Named("l")}, {graph.Known(3), graph.Known(5)}} {
				t.Run(fmt.Sprint(typ, head, dims), func(t *testing.T) {
					needs := sampling.Needs{P1: true, InsertionRate: true, UnmaskRate: true, FrozenGap: true}
					d := open(t, onnx.Model{Name: "growing", Data: growing(typ, dims[0], dims[1]), MaskID: 3, PadID: 1}, onnx.Options{Head: head},
						sampling.Head{Needs: needs, Suppress: []int32{3}})
					if s := d.Capabilities().Serves; !s.InsertionRate || !s.UnmaskRate || !s.FrozenGap {
						t.Errorf("serves %v", s)
					}
					for _, l := range []int{2, 4, 2} {
						rows := [][]int64{[]int64{0, 3, 3, 2}[:l], {3, 1}} // the second is shorter
						batch, err := d.Batch(2, l)
						if err != nil {
							t.Fatal(err)
						}
						var gaps, masks [][]float32
						for i, row := range rows {
							var gap, mask []float32
							for j := range l {
								id, shown := int64(1), int64(0)
								if j < len(row) {
									id, shown = row[j], 1
									gap, mask = append(gap, gapOf[id]), append(mask, maskOf[id])
								}
								batch.Tokens[i*l+j], batch.Attention[i*l+j], batch.Active[i*l+j] = id, shown, uint8(shown)
							}
							batch.Params[i].TopP = 1
							gaps, masks = append(gaps, append(gap, 7)), append(masks, mask)
						}
						st, err := d.Run(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						for i := range rows {
							if diff := cmp.Diff(gaps[i], st.InsertionRate[i*(l+1):][:len(gaps[i])]); diff != "" {
								t.Errorf("length %d, gaps of row %d: %s", l, i, diff)
							}
							if diff := cmp.Diff(masks[i], st.UnmaskRate[i*l:][:len(masks[i])]); diff != "" {
								t.Errorf("length %d, masks of row %d: %s", l, i, diff)
							}
						}
						if p := st.P1[0]; !(p > .25 && p < 1) {
							t.Errorf("length %d: p1 of the first token is %v", l, p)
						}
					}
				})
			}
		}
	}
}

// What a model without rates, or with some of another shape, is asked for is refused by name.
func TestRatesRefused(t *testing.T) {
	d, err := onnx.Open(t.Context(), onnx.Model{Name: "masked", Data: embedModel(4, 2, 4), MaskID: 3}, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing ran
	for want, needs := range map[string]sampling.Needs{"insertion_rate": {InsertionRate: true}, "unmask_rate": {UnmaskRate: true}, "frozen_gap": {FrozenGap: true}} {
		if err := d.Configure(t.Context(), sampling.Head{Needs: needs}); err == nil || !strings.Contains(err.Error(), "needs "+want) {
			t.Errorf("error %v, want one of %s", err, want)
		}
	}
	l := graph.Named("l")
	whole, err := graph.Decode(growing(graph.Float32, graph.Named("b"), l))
	if err != nil {
		t.Fatal(err)
	}
	whole.Graph.Outputs[1].Shape = append(whole.Graph.Outputs[1].Shape, graph.Known(1))
	if _, err := onnx.Open(t.Context(), onnx.Model{Name: "odd", Data: whole.Encode(), MaskID: 3}, onnx.Options{}); err == nil || !strings.Contains(err.Error(), "expected float [B, L+1]") {
		t.Errorf("error %v of rates with three dimensions", err)
	}
	guided, err := onnx.Open(t.Context(), onnx.Model{Name: "growing", Data: growing(graph.Float32, graph.Named("b"), l), MaskID: 3}, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer guided.Close() //nolint:errcheck // nothing ran
	if err := guided.Configure(t.Context(), sampling.Head{Guidance: 1, Needs: sampling.Needs{InsertionRate: true}}); err == nil || !strings.Contains(err.Error(), "rows grow") {
		t.Errorf("error %v of guidance", err)
	}
}
