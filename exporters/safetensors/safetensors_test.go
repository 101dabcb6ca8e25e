package safetensors_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/exporters"
	target "github.com/mdmhost/mdmhost/exporters/safetensors"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// export exports a model, and verifies it where EXPORT_PYTHON names a Python with safetensors.
func export(t *testing.T, ref, precision string) (dir string) {
	t.Helper()
	s, err := exporters.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	o := exporters.Options{Precision: precision, Verify: exporters.VerifyOff}
	if python := os.Getenv("EXPORT_PYTHON"); python != "" {
		o.Verify, o.Python = exporters.VerifyMust, python
	}
	dir = filepath.Join(t.TempDir(), "out")
	r, err := exporters.Export(t.Context(), target.New(), s, o, dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.Verify == exporters.VerifyMust && (r.Verified.Verdict == nil || r.Verified.Elements < 1000) {
		t.Errorf("verified: %+v", r.Verified)
	}
	return dir
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The parameters of a model of ours stay the same bytes, and so does everything in an export of the export.
func TestRoundTrip(t *testing.T) {
	for _, name := range []string{"sudoku", "molecule-insertion"} {
		m, err := model.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		own, err := m.ReadFile("model.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		first := export(t, name, "")
		if !bytes.Equal(own, read(t, first, "model.safetensors")) {
			t.Errorf("%s: model.safetensors has other bytes", name)
		}
		same(t, first, export(t, first, ""))
		// fp16 is what the files have.
		same(t, first, export(t, first, exporters.FP16))
	}
}

// same compares the files of two exports but for their records.
func same(t *testing.T, a, b string) {
	t.Helper()
	files, err := exporters.Hash(a)
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if !bytes.Equal(read(t, a, f.Name), read(t, b, f.Name)) {
			t.Errorf("%s differs", f.Name)
		}
	}
}

// A conversion changes the elements of parameters, config.json says so, and the way back gives the numbers of the narrower type.
func TestPrecisions(t *testing.T) {
	for precision, want := range map[string]struct {
		dtype safetensors.DType
		word  string
	}{exporters.FP32: {safetensors.F32, "float32"}, exporters.FP16: {safetensors.F16, "float16"}, exporters.BF16: {safetensors.BF16, "bfloat16"}} {
		dir := export(t, "sudoku", precision)
		f, err := safetensors.Open(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // only read
		if f.Metadata["format"] != "pt" {
			t.Errorf("metadata %v", f.Metadata)
		}
		for _, x := range f.Tensors() {
			if x.DType != want.dtype {
				t.Errorf("%s: %s is %s", precision, x.Name, x.DType)
			}
		}
		if !strings.Contains(string(read(t, dir, "config.json")), `"dtype": "`+want.word+`"`) {
			t.Errorf("%s: config.json says something else", precision)
		}
		same(t, dir, export(t, dir, precision))
	}
}

// A network that others exported is written under the names of this framework, and is a model directory of it.
func TestForeign(t *testing.T) {
	dir := export(t, "rxnmapper-albert", "")
	s, err := exporters.Open(t.Context(), dir)
	if err != nil || s.Config == nil {
		t.Fatal(err, s.Why)
	}
	foreign, err := exporters.Open(t.Context(), "rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	want, err := foreign.Reference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Reference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for i := range want.Logits {
		largest = max(largest, float64(max(want.Logits[i]-got.Logits[i], got.Logits[i]-want.Logits[i])))
	}
	if largest > want.Limit() {
		t.Errorf("logits differ by %g, expected at most %g", largest, want.Limit())
	}
	same(t, dir, export(t, dir, ""))
}
