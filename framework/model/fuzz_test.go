package model_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model"
)

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "bert", "vocab_size": 7, "mask_token_id": 5, "pad_token_id": null, "eos_token_id": [1, 2]}`))
	f.Add([]byte(`{"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 2147483647}`))
	f.Add([]byte("{\n\"mask_token_id\": \"x\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := model.ParseConfig("config.json", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", c, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "config.json") {
			t.Errorf("error %q does not begin with the file", err)
		}
		if c != nil && (c.MaxPositions < 0 || c.VocabSize < 0) {
			t.Errorf("negative sizes: %+v", c)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"family": "insertion", "time": {"input": "t", "noise_at": 0}, "schedule": {"kind": "kumaraswamy", "a": 1.5}, "gap": "eos"}`))
	f.Add([]byte(`{"length": {"policy": "fixed", "cap": 81}, "infill": {"blank": ".", "input_map": {"0": "."}}, "famly": 1}`))
	f.Add([]byte(`{"networks": {"planner": {"onnx": "p.onnx"}}, "trainer": {"name": "md4", "options": {}}, "digests": {}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := model.ParseManifest("mdm.json", data)
		if (m == nil) == (err == nil) {
			t.Fatalf("manifest %v and error %v", m, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "mdm.json") {
			t.Errorf("error %q does not begin with the file", err)
		}
		if m != nil && (m.Time.NoiseAt == nil || m.Schedule.Kind == "" || !slices.Contains([]string{"masked", "insertion"}, m.Family)) {
			t.Errorf("defaults are missing: %+v", m)
		}
	})
}

func FuzzInfill(f *testing.F) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "CC[MASK]", "[[MASK]]", "[MASK", "[CLS][SEP]", "\xff", "é[MASK]\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		row, err := m.EncodeInfill(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "infill: ") {
				t.Errorf("error %q does not begin with what failed", err)
			}
			return
		}
		if row.Blanks() != strings.Count(text, "[MASK]") {
			t.Errorf("%q: %d blanks, want %d", text, row.Blanks(), strings.Count(text, "[MASK]"))
		}
		if len(row.Fixed) != len(row.Tokens) || len(row.Tokens) > m.MaxLength {
			t.Errorf("%q: %d tokens, %d flags", text, len(row.Tokens), len(row.Fixed))
		}
	})
}
