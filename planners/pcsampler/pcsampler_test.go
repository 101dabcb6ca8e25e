package pcsampler

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestParse(t *testing.T) {
	r, err := parse([]byte(`{"num_token": 1000, "p_baseline_dict": {"0": 500, "7": 1, "12": 1000}}`))
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[int32]float64{0: math.Log(2), 7: math.Log(1000), 12: 0, 3: math.Log(1000)} {
		if got := r.of(token); math.Abs(got-want) > 1e-12 {
			t.Errorf("token %d: -ln f = %v, want %v", token, got, want)
		}
	}
	for given, want := range map[string]string{
		``:                  "expected a JSON object",
		`{}`:                "expected num_token, at least 1, and p_baseline_dict",
		`{"num_token": 10}`: "expected num_token, at least 1, and p_baseline_dict",
		`{"num_token": 0, "p_baseline_dict": {}}`:         "expected num_token, at least 1",
		`{"num_token": 9, "p_baseline_dict": {}} 1`:       "nothing after it",
		`{"num_token": 9, "p_baseline_dict": {"the": 1}}`: `expected token ids as keys, found "the"`,
		`{"num_token": 9, "p_baseline_dict": {"-1": 1}}`:  `expected token ids as keys, found "-1"`,
		`{"num_token": 9, "p_baseline_dict": {"1": 0}}`:   "expected a count above 0",
		`{"num_token": 9, "p_baseline_dict": {"1": 10}}`:  "at most num_token 9 for token 1, found 10",
	} {
		if _, err := parse([]byte(given)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", given, err, want)
		}
	}
}

func TestAFileThatCannotBeUsed(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`[1]`), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		broken:                               "broken.json: expected a JSON object",
		filepath.Join(t.TempDir(), "absent"): "no such file",
	} {
		_, err := New().Start(t.Context(), sampling.Run{Options: []byte(`{"frequencies":"` + path + `"}`), V: 9})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "INVALID_CONFIG") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzParse: whatever comes, frequencies are probabilities or an error is told.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"num_token": 10, "p_baseline_dict": {"1": 3}}`, `{"num_token": 1e400}`, `{"p_baseline_dict": null}`, `[`, `{"num_token":1e308,"p_baseline_dict":{"2147483647":1e-300}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, given []byte) {
		r, err := parse(given)
		if err != nil {
			return
		}
		if r.listed[-1] = r.rest; r.rest < 0 {
			t.Fatalf("%s: rest %v", given, r.rest)
		}
		for token, x := range r.listed {
			if !(x >= 0) {
				t.Fatalf("%s: token %d has -ln f = %v", given, token, x)
			}
		}
	})
}
