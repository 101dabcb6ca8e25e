package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// growing is a fixture of an insertion model; with an end, rows end in "c" (2).
func growing(manifest string, end bool) *fixture {
	f := newFixture().with("mdm.json", manifest)
	f.graph.Graph.Outputs = append(f.graph.Graph.Outputs, value("insertion_rate", graph.Float32, batch, graph.Named("gaps")))
	f.graph.Graph.Nodes = append(f.graph.Graph.Nodes, &graph.Node{Op: "Cast", Inputs: []string{"input_ids"}, Outputs: []string{"insertion_rate"},
		Attributes: []*graph.Attribute{graph.Int("to", int64(graph.Float32))}})
	if end {
		f.files["tokenizer.json"] = strings.Replace(characters, `"post_processor": null`, `"post_processor": {"type": "TemplateProcessing",
			"single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "c", "type_id": 0}}], "pair": [],
			"special_tokens": {"c": {"id": "c", "ids": [2], "tokens": ["c"]}}}`, 1)
	}
	return f
}

// gaps writes frozen gaps as text: "x" frozen, "-" free.
func gaps(frozen []bool) string {
	out := make([]byte, len(frozen))
	for i, is := range frozen {
		if out[i] = '-'; is {
			out[i] = 'x'
		}
	}
	return string(out)
}

// Blanks are places where a row may grow; everything given is fixed, and its gaps are frozen.
func TestRowsOfInsertionModels(t *testing.T) {
	tail := growing(`{"family": "insertion"}`, false).open(t)
	ends := growing(`{"family": "insertion", "gap": "eos"}`, true).open(t)
	encode := map[string]func(*model.Model, string) (model.Row, error){
		"prompt": func(m *model.Model, text string) (model.Row, error) { return m.EncodePrompt(text, 0) },
		"infill": func(m *model.Model, text string) (model.Row, error) { return m.EncodeInfill(text) },
		"tokens": func(m *model.Model, text string) (model.Row, error) {
			var ids []int32
			for _, c := range text {
				ids = append(ids, map[rune]int32{'a': 0, 'b': 1, 'c': 2, '_': blank}[c])
			}
			return m.EncodeTokens(ids)
		},
	}
	for _, c := range []struct {
		m          *model.Model
		kind, text string
		tokens     []int32
		gaps       string
	}{
		{tail, "prompt", "", nil, "-"},
		{tail, "prompt", "ab", []int32{0, 1}, "xx-"},
		{tail, "infill", "_a__b_", []int32{0, 1}, "---"},
		{tail, "infill", "ab", []int32{0, 1}, "xxx"},
		{tail, "infill", "__", nil, "-"},
		{tail, "tokens", "", nil, "x"},
		{tail, "tokens", "_a", []int32{0}, "-x"},
		{ends, "prompt", "", []int32{2}, "-x"},
		{ends, "prompt", "ab", []int32{0, 1, 2}, "xx-x"},
		{ends, "infill", "a_b", []int32{0, 1, 2}, "x-xx"},
		{ends, "infill", "a_", []int32{0, 2}, "x-x"},
		{ends, "tokens", "a_c", []int32{0, 2}, "x-x"},
	} {
		row, err := encode[c.kind](c.m, c.text)
		if err != nil || !slices.Equal(row.Tokens, c.tokens) || gaps(row.FrozenGap) != c.gaps || slices.Contains(row.Fixed, false) || row.Cap != 0 {
			t.Errorf("%s %q: %v, gaps %s, %+v, %v, want %v, gaps %s", c.kind, c.text, row.Tokens, gaps(row.FrozenGap), row, err, c.tokens, c.gaps)
		}
		if row.Opens() != slices.Contains([]byte(c.gaps), '-') {
			t.Errorf("%s %q: opens %v", c.kind, c.text, row.Opens())
		}
	}
	for of, want := range map[*model.Model][]int32{tail: {5, 6}, newFixture().open(t): {5}} { // padding is a special token
		if diff := cmp.Diff(want, of.Suppress()); diff != "" {
			t.Errorf("suppressed by a model of family %s: %s", of.Manifest.Family, diff)
		}
	}
}

// Lengths of rows that grow: what --length, the cap and the file's export make of them.
func TestLengthsOfInsertionModels(t *testing.T) {
	m := growing(`{"family": "insertion", "length": {"cap": 6}}`, false).open(t)
	for _, c := range []struct {
		generate, want int
	}{{0, 0}, {2, 4}, {4, 6}, {5, 6}} {
		if row, err := m.EncodePrompt("ab", c.generate); err != nil || row.Cap != c.want || len(row.Tokens) != 2 {
			t.Errorf("%d to generate: %+v, %v, want a cap of %d", c.generate, row, err, c.want)
		}
	}
	row, err := m.EncodeInfill("a_b")
	if got := m.WithRoom(row, 3); err != nil || got.Cap != 5 {
		t.Errorf("cap %d, %v, want 5", got.Cap, err)
	}
	if plain := newFixture().open(t).WithRoom(model.Row{Tokens: []int32{1}}, 3); plain.Cap != 0 {
		t.Errorf("a masked row has a cap of %d", plain.Cap)
	}
	_, err = m.EncodePrompt("abababa", 0)
	mustFail(t, err, "prompt: has 7 positions", "at most 6")
	_, err = m.EncodePrompt("ababab", 0)
	mustFail(t, err, "prompt: has 6 positions", "leaves none of the model's 6")
	_, err = m.EncodePrompt("a", 7)
	mustFail(t, err, "length: 7 positions to generate, expected at most 6")
	_, err = m.EncodeInfill("abababa_")
	mustFail(t, err, "infill: the row has 7 positions", "at most 6")

	free := growing(`{"family": "insertion"}`, false).with("config.json", `{"mask_token_id": 5}`).open(t)
	if _, err := free.EncodePrompt("a", 0); !errors.Is(err, model.ErrNoLength) {
		t.Errorf("error %v, want ErrNoLength", err)
	}
	if row, err := free.EncodePrompt("a", 9); err != nil || row.Cap != 10 {
		t.Errorf("%+v, %v, want a cap of 10", row, err)
	}

	noEnd := growing(`{"family": "insertion", "gap": "eos"}`, false).open(t)
	_, err = noEnd.EncodePrompt("a", 0)
	mustFail(t, err, "puts no token behind a text")
	_, err = noEnd.EncodeTokens([]int32{blank})
	mustFail(t, err, "tokens: the row has no position", "end with a fixed token")
	_, err = noEnd.EncodeTokens([]int32{0, blank})
	mustFail(t, err, "blank behind its last position", "token 0")

	fixed := growing(`{"family": "insertion"}`, false)
	fixed.graph.Graph.Inputs[0] = value("input_ids", graph.Int64, graph.Known(2), graph.Known(4))
	_, err = fixed.open(t).EncodeInfill("a_bb")
	mustFail(t, err, "fixed the length at 4", "attention_mask")

	odd := growing(`{"family": "insertion"}`, false)
	odd.graph.Graph.Outputs[1].Type = graph.Int64
	_, err = model.Open(odd.write(t))
	mustFail(t, err, `output "insertion_rate" is int64`, "floats [B, L+1]")
}
