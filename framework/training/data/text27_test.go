package data

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The lengths and digests that a correct text27 gives, from the description of the data.
func TestText27(t *testing.T) {
	for name, want := range map[string]struct {
		length int
		digest string
	}{
		"dickens_train":  {8776719, "d1ea20ec3b0227896eaf0edc538faf8775da67996c566cdf844016ecc354cb48"},
		"dickens_valid":  {326162, "57bbf4754efa6804cc3a7e13dc1834addd1cc89b42e9f5ccc098772a71c1f2c3"},
		"austen_valid":   {418442, "6bd9987f948e525646b4ce3de62e25f167ebf2cba1ce724801f25525df83f7b5"},
		"brown_valid":    {832845, "f7313d58b99c0cbf027b50c16de3c0064b2b7d83d2290bccdd97fecdaf43e932"},
		"wikitext2_test": {1204551, "98bd447d4fd26a3414775b58358042c4969c9e54bb3b26d68dae7aebcf6e8749"},
	} {
		got := new(text27).append(nil, sharedText(t, "text/"+name+".txt.gz"))
		sum := sha256.Sum256(got)
		if len(got) != want.length || hex.EncodeToString(sum[:]) != want.digest {
			t.Errorf("%s: %d characters, sha256 %x, want %d, %s", name, len(got), sum, want.length, want.digest)
		}
	}
}

func TestText27Rule(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  ": "", "A1b": "a one b", "42": "four two", "-x-": "x", "a\u212ab": "akb", "caf\u00e9s": "caf s", "\u0130stanbul": "i stanbul", "x\n\ny": "x y",
	} {
		if got := string(new(text27).append(nil, text)); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A text in parts gives what it gives in one.
func TestText27Parts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("aZ09 .\né")))).Draw(t, "parts")
		var n text27
		var got []byte
		for _, p := range parts {
			got = n.append(got, p)
		}
		if want := string(new(text27).append(nil, strings.Join(parts, ""))); string(got) != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
