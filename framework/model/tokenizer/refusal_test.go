package tokenizer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// file writes a tokenizer.json of two words; more replaces or adds top-level keys.
func file(model, more string) string {
	if model == "" {
		model = `{"type": "WordLevel", "vocab": {"a": 0, "b": 1, "[UNK]": 2}, "unk_token": "[UNK]"}`
	}
	return fmt.Sprintf(`{"version": "1.0", %s "model": %s}`, more, model)
}

func TestRefusals(t *testing.T) {
	added := func(s string) string { return file("", `"added_tokens": [`+s+`],`) }
	post := func(s string) string { return file("", `"post_processor": `+s+`,`) }
	for name, c := range map[string]struct{ json, says string }{
		"malformed":        {"{\"model\":\n {]}", "t.json:2:3: malformed JSON"},
		"no model":         {`{"version": "1.0"}`, "t.json: has no model.vocab"},
		"array":            {`[1]`, "t.json:1:1: the value is a JSON array, expected an object"},
		"empty vocabulary": {file(`{"type": "WordLevel", "vocab": {}}`, ""), "model.vocab: is empty"},
		"ids of text":      {file(`{"type": "WordLevel", "vocab": {"a": "0"}}`, ""), "model.vocab: is not an object of token ids"},
		"negative id":      {file(`{"type": "WordLevel", "vocab": {"a": -1}}`, ""), `token "a" has id -1, expected 0 to`},
		"absurd id":        {file(`{"type": "WordLevel", "vocab": {"a": 4611686018427387904}}`, ""), `token "a" has id 4611686018427387904`},
		"shared id":        {file(`{"type": "WordLevel", "vocab": {"a": 0, "b": 0}}`, ""), `tokens "a" and "b" share id 0`},
		"added elsewhere":  {added(`{"id": 1, "content": "a"}`), `"a" has id 1, but id 0 in model.vocab`},
		"added with a gap": {added(`{"id": 9, "content": "[MASK]"}`), `"[MASK]" has id 9, expected 3`},
		"added empty":      {added(`{"id": 3, "content": ""}`), "id 3 has an empty content"},
		"template unknown": {post(`{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X"}}, {"Sequence": {"id": "A"}}], "special_tokens": {}}`), `"X" is not among special_tokens`},
		"template id":      {post(`{"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"X": {"ids": [7]}}}`), `"X" has id 7, which the vocabulary lacks`},
		"template no text": {post(`{"type": "TemplateProcessing", "single": [], "special_tokens": {}}`), "has the text 0 times"},
		"bert id":          {post(`{"type": "BertProcessing", "sep": ["b", 7], "cls": ["a", 0]}`), `sep: "b" has id 7`},
		"post-processor":   {post(`{"type": "Other"}`), `post_processor: type "Other" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tokenizer.Parse("t.json", []byte(c.json))
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "t.json") {
				t.Errorf("error %v, want one that says %q", err, c.says)
			}
		})
	}
}

// pre writes a tokenizer.json with one Split pattern.
func pre(pattern string) string {
	return file("", fmt.Sprintf(`"pre_tokenizer": {"type": "Split", "pattern": {"Regex": %q}, "behavior": "Isolated"},`, pattern))
}

func TestEncodeErrors(t *testing.T) {
	tok, err := tokenizer.Parse("t.json", []byte(file(`{"type": "WordLevel", "vocab": {"a": 0}}`, `"decoder": {"type": "Fuse"},`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tok.Encode("xyz", false); err == nil || !strings.Contains(err.Error(), `"xyz" is not in the vocabulary`) {
		t.Errorf("unknown text without an unknown token: %v", err)
	}
	if _, err := tok.Encode("a\xffb", false); err == nil || !strings.Contains(err.Error(), "not UTF-8 at byte 1") {
		t.Errorf("broken UTF-8: %v", err)
	}
	if got := tok.Decode([]int32{0, -1, 99, 0}, true); got != "aa" {
		t.Errorf("Decode with ids out of range = %q, want what there is", got)
	}
	if tok.Token(-1) != "" || tok.Token(99) != "" || tok.Special(99) || tok.Added(-1) {
		t.Error("ids out of range have no token")
	}
}

func TestMask(t *testing.T) {
	for _, c := range []struct {
		added string
		mask  int32
	}{
		{`"[MASK]"`, 3}, {`"<mask>"`, 3}, {`"<|mdm_mask|>"`, 3}, {`"<|mask|>"`, 3}, {`"[mask]"`, 3}, {`"mask"`, -1}, {`"[PAD]"`, -1},
		{`"[MASK]"}, {"id": 4, "content": "<mask>"`, -1}, {`"[PAD]"}, {"id": 4, "content": "<mask>"`, 4},
	} {
		tok, err := tokenizer.Parse("t.json", []byte(file("", `"added_tokens": [{"id": 3, "content": `+c.added+`}],`)))
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := tok.Mask(); ok != (c.mask >= 0) || id != c.mask {
			t.Errorf("added token %s: mask %d %v, want %d", c.added, id, ok, c.mask)
		}
	}
}

// TestRoundTrip: characters come back as they went in, and the post-processor goes around them.
func TestRoundTrip(t *testing.T) {
	for _, g := range readGolden(t) {
		if g.Name != "exact26" && g.Name != "bytes" && g.Name != "characters" {
			continue
		}
		tok, err := tokenizer.Parse(g.Name, g.File)
		if err != nil {
			t.Fatal(err)
		}
		letters := rapid.StringMatching(`[a-z]{0,40}`)
		if g.Name == "bytes" {
			letters = rapid.String()
		}
		rapid.Check(t, func(t *rapid.T) {
			text := letters.Draw(t, "text")
			ids, err := tok.Encode(text, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.Decode(ids, true); got != text {
				t.Fatalf("%s: %q came back as %q", g.Name, text, got)
			}
			prefix, suffix := tok.Template()
			full, _ := tok.Encode(text, true)
			if want := append(append(append([]int32{}, prefix...), ids...), suffix...); !cmp.Equal(full, want) {
				t.Fatalf("%s: with specials %v, want %v", g.Name, full, want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(pre(`\[[^\]]+]|Br?|Cl?|>>?|\%[0-9]{2}`)), "CC[MASK]")
	f.Add([]byte(file("", `"post_processor": {"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]},`)), "a")
	f.Add([]byte(pre(`[^\d\-]{1,2}|\W`)), "ab1-")
	f.Add([]byte(file("", `"added_tokens": [{"id": 3, "content": "[MASK]", "lstrip": true, "single_word": true}], "normalizer": {"type": "Lowercase"},`)), "A [MASK] b")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := tokenizer.Parse("t.json", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "t.json") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		ids, err := tok.Encode(text, true)
		if err != nil {
			return
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.Size() {
				t.Errorf("Encode(%q) gives id %d, vocabulary has %d", text, id, tok.Size())
			}
		}
		tok.Decode(ids, true)
	})
}
