//go:build !tokenizers

package tokenizer_test

import (
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// TestLacking: what pure Go cannot read names the build that can.
func TestLacking(t *testing.T) {
	for name, c := range map[string]struct{ json, says string }{
		"BPE":           {file(`{"type": "BPE", "vocab": {"a": 0}, "merges": []}`, ""), `model type "BPE"`},
		"WordPiece":     {file(`{"type": "WordPiece", "vocab": {"a": 0, "[UNK]": 1}}`, ""), `model type "WordPiece"`},
		"Unigram":       {file(`{"type": "Unigram", "vocab": [["a", -1.5]], "unk_id": 0}`, ""), `model type "Unigram"`},
		"lookahead":     {pre(`\s+(?!\S)`), "the group (?!"},
		"anchor":        {pre(`^a`), "the anchor ^"},
		"boundary":      {pre(`\ba`), `the escape \b`},
		"intersection":  {pre(`[\p{L}&&a]`), "an intersection of classes"},
		"possessive":    {pre(`a++`), "nested repetition"},
		"empty match":   {pre(`a*`), "matches the empty text"},
		"POSIX class":   {pre(`[[:alpha:]]`), "a class within a class"},
		"property":      {pre(`\p{Alpha}`), `\p{Alpha}`},
		"normalizer":    {file("", `"normalizer": {"type": "NFKC"},`), `normalizer "NFKC"`},
		"pre-tokenizer": {file("", `"pre_tokenizer": {"type": "Metaspace"},`), `pre_tokenizer "Metaspace"`},
		"GPT-2 pattern": {file("", `"pre_tokenizer": {"type": "ByteLevel"},`), "ByteLevel with use_regex"},
		"decoder":       {file("", `"decoder": {"type": "Metaspace"},`), `decoder "Metaspace"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tokenizer.Parse("t.json", []byte(c.json))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("error %v, want one that says %q", err, c.says)
			}
			for _, w := range []string{"t.json: ", "`just build`", "`tokenizers`"} {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}
