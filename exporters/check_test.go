package exporters_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
)

func TestVerifyDir(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	target := stub{files: map[string]string{"a": "a", "b/c": "c"}}
	if _, err := exporters.Export(t.Context(), target, open(t, "sudoku"), exporters.Options{Verify: exporters.VerifyOff}, out); err != nil {
		t.Fatal(err)
	}
	r, v, err := exporters.VerifyDir(out)
	if err != nil || r.Target != "stub" || len(v.Checked) != 2 || len(v.Changed)+len(v.Missing)+len(v.Unlisted) > 0 {
		t.Errorf("%+v %+v %v", r, v, err)
	}
	if err := os.WriteFile(filepath.Join(out, "a"), []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(out, "b", "c"), filepath.Join(out, "b", "d")); err != nil {
		t.Fatal(err)
	}
	_, v, err = exporters.VerifyDir(out)
	if err != nil || len(v.Changed) != 1 || v.Changed[0].Name != "a" || cmp.Diff(v.Missing, []string{"b/c"})+cmp.Diff(v.Unlisted, []string{"b/d"}) != "" {
		t.Errorf("%+v %v", v, err)
	}
	for text, want := range map[string]string{"{": "expected the record of an export", `{"format": 2}`: "its format is 2, expected 1", `{"format": 1, "files": [{"name": "../a"}]}`: "outside the directory"} {
		if err := os.WriteFile(filepath.Join(out, exporters.RecordName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := exporters.VerifyDir(out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"format": 1, "mdmhost": "v1", "target": "onnx", "options": {"precision": "fp32"}, "source": {"name": "sudoku", "digest": "00", "files": []}, "verified": {"reason": "not asked for"}, "files": [{"name": "a", "bytes": 1, "sha256": "00"}]}`))
	f.Add([]byte(`{"format": 1, "verified": {"stack": "x", "positions": 3, "near_ties": 1}, "files": null}`))
	f.Add([]byte(`{"format": 2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := exporters.ParseRecord("export.json", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "export.json: ") {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := exporters.ParseRecord("export.json", again)
		if diff := cmp.Diff(r, back); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}
