package network_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
)

// judging is a network that rates tokens.
func judging(t testing.TB, masked bool) network.Config {
	return valid(t, network.Config{VocabSize: 29, HiddenSize: 32, Layers: 2, Heads: 4, MaxPositions: 24, Bias: true, Head: network.HeadKeep, MaskedInput: masked})
}

// TestJudgeIsTheDenoiser holds a judging network against a denoiser that must say the same: its vocabulary has every token twice,
// as itself and in the place of a mask, and its first logit is the verdict without the bias.
func TestJudgeIsTheDenoiser(t *testing.T) {
	c := judging(t, true)
	values := formula(c)
	v, d := c.VocabSize, c.HiddenSize
	twin := c
	twin.Head, twin.MaskedInput, twin.VocabSize = network.HeadTokens, false, 2*v
	other := network.Values{}
	for _, p := range network.Params(twin) {
		other[p.Name] = values[p.Name]
	}
	tokens, head := make([]float32, 2*v*d), make([]float32, 2*v*d)
	for i := range tokens {
		tokens[i] = values["embeddings.tokens"][i%(v*d)] + values["embeddings.masked"][i/(v*d)*d+i%d]
	}
	copy(head, values["head.weight"])
	other["embeddings.tokens"], other["head.weight"] = tokens, head

	const b, l = 2, 5
	ids := []int64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	masked := []int64{0, 1, 1, 0, 1, 0, 0, 1, 0, 0}
	mask := []int64{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}
	doubled := make([]int64, len(ids))
	for i := range ids {
		doubled[i] = ids[i] + int64(v)*masked[i]
	}
	all := logits(t, twin, other, rows{b: b, l: l, ids: doubled, mask: mask})
	want := make([]float32, b*l)
	for i := range want {
		want[i] = all[i*2*v] + values["head.bias"][0]
	}
	m, err := network.Export(c, values, network.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Graph.Outputs[0].Name != "keep" {
		t.Fatalf("the output is %s", m.Graph.Outputs[0].Name)
	}
	m.Graph.Outputs[0].Name = "logits" // what run asks for
	for _, n := range m.Graph.Nodes {
		for i, name := range n.Outputs {
			if name == "keep" {
				n.Outputs[i] = "logits"
			}
		}
	}
	got := run(t, m, rows{b: b, l: l}, map[string][]int64{"input_ids": ids, "attention_mask": mask, "masked": masked}, nil)
	near(t, "keep", want, got, 1e-5)
}

// TestJudgeDir writes a planner and reads it back; it opens as a planner alone.
func TestJudgeDir(t *testing.T) {
	for _, masked := range []bool{false, true} {
		c := judging(t, masked)
		dir := filepath.Join(t.TempDir(), "planner")
		m := network.ModelDir{Config: c, Values: formula(c), Tokenizer: letters(t), Manifest: &model.Manifest{Family: "planner", Planner: &model.Planner{Head: model.HeadBinary, MaskPattern: masked}}}
		if err := network.WriteModelDir(dir, m); err != nil {
			t.Fatal(err)
		}
		again, values, err := network.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(m.Values, values); diff != "" {
			t.Error(diff)
		}
		opened, err := model.Open(dir, model.AsPlanner())
		if err != nil {
			t.Fatal(err)
		}
		if !opened.Keep || opened.Masked != masked || opened.V != 29 {
			t.Errorf("keep %t, masked %t, V %d", opened.Keep, opened.Masked, opened.V)
		}
		if _, err := model.Open(dir); err == nil {
			t.Error("a planner opens as a denoiser")
		}
	}
}

func TestJudgeRefusals(t *testing.T) {
	for want, c := range map[string]network.Config{
		`head: is "yes", expected keep`: {Head: "yes"},
		"tie_word_embeddings: is true, and head keep gives no logits of tokens; set it to false": {Head: network.HeadKeep, Tied: true},
	} {
		c.VocabSize, c.HiddenSize, c.Layers, c.Heads, c.MaxPositions = 29, 32, 2, 4, 24
		if err := c.Filled().Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := judging(t, true)
	b, params := graph.NewBuilder("test", graph.DefaultOpset), map[string]graph.Value{}
	for _, p := range network.Params(c) {
		params[p.Name] = b.Initializer(graph.OfFloats(p.Name, p.Shape, make([]float32, p.Len())))
	}
	network.Build(b, c, params, map[string]graph.Value{"input_ids": b.Input("input_ids", graph.Int64, graph.Dims("B", "L")...)})
	if err := fmt.Sprint(b.Err()); !strings.Contains(err, "network: masked is missing; give int64 [B, L]") {
		t.Error(err)
	}
}
