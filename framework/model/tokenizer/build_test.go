package tokenizer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/model/tokenizer"
)

// TestBuilt: a tokenizer made from data is what the Hugging Face library makes of the same data, and reads like there.
func TestBuilt(t *testing.T) {
	var all []struct {
		Name, Kind string
		Begin, End bool
		Texts      []string
		File       any
		Cases      [][4]json.RawMessage
	}
	goldenfile.Read(t, "testdata/built.json.gz", &all)
	for _, g := range all {
		t.Run(g.Name, func(t *testing.T) {
			b := map[string]func() *tokenizer.Builder{"characters": tokenizer.NewCharacters, "smiles": tokenizer.NewSMILES}[g.Kind]()
			for _, text := range g.Texts {
				if err := b.Add(text); err != nil {
					t.Fatal(err)
				}
			}
			file, err := b.File(g.Begin, g.End)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := json.Unmarshal(file, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.File, got); diff != "" {
				t.Errorf("tokenizer.json differs (-Hugging Face +ours):\n%s", diff)
			}
			tok, err := tokenizer.Parse(g.Name, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range g.Cases {
				text, _ := value[string](t, c[0])
				want, served := value[[]int32](t, c[1])
				ids, err := tok.Encode(text, false)
				if (err == nil) != served || len(ids)+len(want) > 0 && !cmp.Equal(ids, want) {
					t.Errorf("Encode(%q) = %v, %v, want %v", text, ids, err, want)
				}
				full, _ := tok.Encode(text, true)
				if want, _ := value[[]int32](t, c[2]); len(full)+len(want) > 0 && !cmp.Equal(full, want) {
					t.Errorf("Encode(%q, special) = %v, want %v", text, full, want)
				}
				if want, ok := value[string](t, c[3]); ok && tok.Decode(full, true) != want {
					t.Errorf("Decode = %q, want %q", tok.Decode(full, true), want)
				}
			}
			if id, ok := tok.Mask(); !ok || tok.Token(id) != tokenizer.Mask || !tok.Special(id) {
				t.Errorf("mask %d %v", id, ok)
			}
		})
	}
}

// TestBuiltRoundTrip: whatever text a tokenizer is made from comes back whole.
func TestBuiltRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 60, -1).Draw(t, "text")
		b := tokenizer.NewCharacters()
		if err := b.Add(text); err != nil {
			t.Fatal(err)
		}
		file, err := b.File(rapid.Bool().Draw(t, "begin"), rapid.Bool().Draw(t, "end"))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenizer.Parse("t.json", file)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(text, true)
		if err != nil {
			t.Fatal(err)
		}
		if got := tok.Decode(ids, true); got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
	})
}

func TestBuilderRefuses(t *testing.T) {
	for text, want := range map[string]string{"CCQ1": `"Q" at character 3 is no symbol of SMILES`, "C\xff": "not UTF-8 at byte 1"} {
		b := tokenizer.NewSMILES()
		if err := b.Add(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
		if _, err := b.File(false, false); err == nil || !strings.Contains(err.Error(), "no symbol was seen") {
			t.Errorf("a refused text was added: %v", err)
		}
	}
	b := tokenizer.NewSMILES()
	if err := b.Add("C[MASK]"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.File(false, false); err == nil || !strings.Contains(err.Error(), "[MASK], which is a special token") {
		t.Errorf("a symbol spelt like the mask: %v", err)
	}
}
