package model_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// blank is the mask of the toy vocabulary.
const blank = 5

func TestInfill(t *testing.T) {
	plain := newFixture().open(t)
	symbols := newFixture().with("mdm.json", `{"infill": {"blank": ".", "input_map": {"0": ".", "x": "ab", "xx": "c"}}}`).open(t)
	bare := newFixture() // the mask is in no vocabulary
	bare.files["config.json"] = `{"mask_token_id": 7, "max_position_embeddings": 8}`
	bare.files["mdm.json"] = `{"infill": {"blank": "*"}}`
	bare.graph.Graph.Outputs[0].Shape[2] = graph.Known(8)
	noName := bare.open(t)
	for _, c := range []struct {
		m    *model.Model
		text string
		want []int32
	}{
		{plain, "a_b", []int32{0, blank, 1}},
		{plain, "__", []int32{blank, blank}},
		{plain, "abc", []int32{0, 1, 2}},
		{plain, "a.0", []int32{0, 4, 4}}, // unknown, as the tokenizer has it
		{symbols, "1..0_", []int32{3, blank, blank, blank, blank}},
		{symbols, "xxx", []int32{2, 0, 1}}, // longest symbol first, in one pass
		{noName, "a*b[MASK]", []int32{0, 7, 1, 7}},
	} {
		row, err := c.m.EncodeInfill(c.text)
		if err != nil || !cmp.Equal(row.Tokens, c.want) {
			t.Errorf("EncodeInfill(%q) = %v, %v, want %v", c.text, row.Tokens, err, c.want)
		}
		for i, id := range row.Tokens {
			if row.Fixed[i] == (id == c.m.MaskID) {
				t.Errorf("EncodeInfill(%q): position %d with id %d: fixed %v", c.text, i, id, row.Fixed[i])
			}
		}
	}
	row, err := plain.EncodeInfill("aQ_")
	if err != nil || !cmp.Equal(row.Unknown, []int{1}) {
		t.Errorf("unknown positions %v, %v, want 1", row.Unknown, err)
	}
	_, err = plain.EncodeInfill("abc_abc_a")
	mustFail(t, err, "infill: the row has 9 positions", "at most 8")
	_, err = plain.EncodeInfill("")
	mustFail(t, err, "infill: the row has no position")
	_, err = plain.EncodeInfill("a\xff")
	mustFail(t, err, "infill: text: is not UTF-8 at byte 1")
}

func TestInfillMolecule(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	row, err := m.EncodeInfill("CC(=O)Nc1ccc([MASK])cc1")
	want := []int32{12, 16, 16, 17, 22, 19, 18, 23, 15, 20, 15, 15, 15, 17, 14, 18, 15, 15, 20, 13} // of Hugging Face tokenizers
	if err != nil || !cmp.Equal(row.Tokens, want) || row.Blanks() != 1 {
		t.Errorf("EncodeInfill = %v, %v, want %v", row.Tokens, err, want)
	}
	if got := m.Tokenizer.Decode(row.Tokens, true); got != "CC(=O)Nc1ccc()cc1" {
		t.Errorf("Decode = %q", got)
	}
	_, err = m.EncodePrompt("CC[MASK]", 3)
	mustFail(t, err, "prompt: has the mask [MASK] at character 3", "--infill")
	row, err = m.EncodePrompt("CC", 3)
	if err != nil || !cmp.Equal(row.Tokens, []int32{12, 16, 16, 14, 14, 14, 13}) {
		t.Errorf("EncodePrompt = %v, %v: blanks go inside the special tokens", row.Tokens, err)
	}
	if row, err = m.EncodePrompt("", 0); err != nil || row.Blanks() != 510 {
		t.Errorf("without a length: %d blanks, %v, want 510: specials are not counted", row.Blanks(), err)
	}
	_, err = m.EncodePrompt("", 511)
	mustFail(t, err, "511 positions to generate", "at most 510", "has 512 with special tokens")
	_, err = m.EncodePrompt("", 1<<40)
	mustFail(t, err, "length: 1099511627776 positions")
	_, err = m.EncodePrompt("", -1)
	mustFail(t, err, "length: -1 positions")
}

func TestTokens(t *testing.T) {
	m := newFixture().open(t)
	row, err := m.EncodeTokens([]int32{0, 5, 6, 4})
	if err != nil || !cmp.Equal(row, model.Row{Tokens: []int32{0, 5, 6, 4}, Fixed: []bool{true, false, true, true}}) {
		t.Errorf("EncodeTokens = %+v, %v", row, err)
	}
	for _, bad := range [][]int32{{0, 7}, {0, -1}} {
		_, err := m.EncodeTokens(bad)
		mustFail(t, err, "tokens: position 1 has id", "expected 0 to 6")
	}
	_, err = m.EncodeTokens(nil)
	mustFail(t, err, "tokens: the row has no position")
}

func TestRowLengths(t *testing.T) {
	free := newFixture().with("config.json", `{"mask_token_id": 5}`).open(t)
	if _, err := free.EncodePrompt("a", 0); !errors.Is(err, model.ErrNoLength) || !strings.Contains(err.Error(), "--length") {
		t.Errorf("error %v, want ErrNoLength", err)
	}
	full := newFixture().open(t)
	_, err := full.EncodePrompt("aaaaaaaa", 0)
	mustFail(t, err, "prompt: has 8 positions", "leaves none")

	fixed := newFixture()
	fixed.graph.Graph.Inputs[0] = value("input_ids", graph.Int64, graph.Known(2), graph.Known(4))
	m := fixed.open(t)
	if m.FixedRows() != 2 || m.FixedLength() != 4 || m.MaxLength != 4 {
		t.Errorf("rows %d, length %d, longest %d, want 2, 4, 4", m.FixedRows(), m.FixedLength(), m.MaxLength)
	}
	_, err = m.EncodeInfill("a_")
	mustFail(t, err, "has 2 positions, expected 4", "attention_mask")
	fixed.input(value("attention_mask", graph.Int64, graph.Known(2), graph.Known(4)))
	delete(fixed.files, "onnx/model.onnx")
	if _, err := fixed.open(t).EncodeInfill("a_"); err != nil {
		t.Errorf("with attention_mask the row can be padded: %v", err)
	}
	only := newFixture().with("mdm.json", `{"length": {"policy": "fixed", "cap": 4}}`).open(t)
	row, err := only.EncodeInfill("a_")
	if err != nil || row.Completed != 2 || row.Blanks() != 3 || len(row.Tokens) != 4 || row.Fixed[0] != true {
		t.Errorf("a text of 2 positions for rows of 4: %+v, %v", row, err)
	}
	_, err = only.EncodeTokens(row.Tokens[:3])
	mustFail(t, err, "expected 4, the only length")
	_, err = only.EncodeInfill("a_aaa")
	mustFail(t, err, "at most 4")
	_, err = only.EncodeInfill("")
	mustFail(t, err, "no position")
}

// TestInfillProperties: blanks stand where the text has them, everything else is what the tokenizer says.
func TestInfillProperties(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		atoms := rapid.SliceOfN(rapid.SampledFrom([]string{"C", "c", "Cl", "[nH]", "(", ")", "=", "1", "[MASK]", "Br", "O"}), 1, 60).Draw(t, "atoms")
		row, err := m.EncodeInfill(strings.Join(atoms, ""))
		if err != nil {
			t.Fatal(err)
		}
		want := []int32{12}
		for _, a := range atoms {
			id, _ := m.Tokenizer.ID(a)
			want = append(want, id)
		}
		if want = append(want, 13); !slices.Equal(row.Tokens, want) {
			t.Fatalf("EncodeInfill(%q) = %v, want %v", atoms, row.Tokens, want)
		}
		if got := m.Tokenizer.Decode(row.Tokens, true); got != strings.ReplaceAll(strings.Join(atoms, ""), "[MASK]", "") {
			t.Fatalf("Decode = %q for %q", got, atoms)
		}
	})
}
