//go:build tokenizers

package importer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A vocab.txt of BERT's gives the ids of Hugging Face's own tokenizer (testdata/wordpiece.py).
func TestWordPiece(t *testing.T) {
	text, err := os.ReadFile("testdata/wordpiece.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Vocabulary, Texts []string
		Cases             []struct {
			Lower bool
			IDs   [][]int32
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for _, c := range golden.Cases {
		dir := copied(t, "bert")
		remove(t, dir, "tokenizer.json")
		put(t, dir, "vocab.txt", []byte(strings.Join(golden.Vocabulary, "\n")+"\n"))
		put(t, dir, "tokenizer_config.json", fmt.Appendf(nil, `{"tokenizer_class": "BertTokenizer", "do_lower_case": %v, "mask_token": {"content": "[MASK]"}, "pad_token": "[PAD]"}`, c.Lower))
		_, m := imported(t, dir)
		for i, text := range golden.Texts {
			got, err := m.Tokenizer.Encode(text, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.IDs[i], got); diff != "" {
				t.Errorf("lower %v, %q: %s", c.Lower, text, diff)
			}
		}
		if m.MaskID != 4 || m.Config.BOS != 2 || m.Config.EOS != 3 {
			t.Errorf("mask %d, begin %d, end %d", m.MaskID, m.Config.BOS, m.Config.EOS)
		}
	}
}
