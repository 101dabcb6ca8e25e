package onnx_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/framework/model"
)

// open opens a source.
func open(t *testing.T, name string) *exporters.Source {
	t.Helper()
	s, err := exporters.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// python is the interpreter with the stacks of exports; tests that need it are skipped without.
func python(t *testing.T) string {
	t.Helper()
	named := os.Getenv("EXPORT_PYTHON")
	if named == "" {
		t.Skip("EXPORT_PYTHON names no Python with the stacks; scripts/test-exports.sh runs this")
	}
	return named
}

// export writes an export, from which Python and this program's runtime answer.
func export(t *testing.T, s *exporters.Source, o exporters.Options) (string, *exporters.Result) {
	t.Helper()
	o.Python, o.Version = python(t), "test"
	dir := filepath.Join(t.TempDir(), "out")
	r, err := exporters.Export(t.Context(), onnx.New(), s, o, dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// TestAnswers: the logits and greedy tokens of every export are the source's, within what its precision allows; the difference is logged with the
// size, as a line of the table in docs/export/onnx.md. With -short, as in CI, the narrower precisions are tried with one model of each family.
func TestAnswers(t *testing.T) {
	python(t)
	most := map[string]float64{exporters.FP32: 0, exporters.FP16Weights: 0.1, exporters.FP16: 0.5, exporters.INT8: 10} // fp32: the limit of exports
	for _, name := range models {
		t.Run(filepath.Base(name), func(t *testing.T) {
			s := open(t, name)
			for _, precision := range onnx.New().Info().Precisions {
				for _, head := range []string{exporters.HeadNone, exporters.HeadStatistics} {
					if head == exporters.HeadNone && (precision != exporters.FP32 || name != "text") {
						continue // the head reads the logits and nothing else
					}
					if testing.Short() && precision != exporters.FP32 && name != "text" && name != "molecule-insertion" {
						continue
					}
					dir, r := export(t, s, exporters.Options{Precision: precision, Head: head})
					v := r.Verified
					if v.Verdict == nil || v.Positions == 0 || v.Tokens == 0 {
						t.Fatalf("%s, %s: verified %+v", precision, head, v)
					}
					if limit := most[precision]; limit > 0 && v.MaxLogit > limit {
						t.Errorf("%s, %s: logits differ by %g, expected at most %g", precision, head, v.MaxLogit, limit)
					}
					info, err := os.Stat(filepath.Join(dir, "onnx/model.onnx"))
					if err != nil {
						t.Fatal(err)
					}
					t.Logf("| %s | %s | %s | %.2f MB | %.1g | %d of %d |", filepath.Base(name), precision, head, float64(info.Size())/1e6, v.MaxLogit, v.TokenErrors, v.Tokens)
					if m, err := model.Open(dir); err != nil || m.Signature.Statistics != (head == exporters.HeadStatistics) {
						t.Errorf("%s, %s: the export opens as a model with %v", precision, head, err)
					}
				}
			}
		})
	}
}

// TestFixed: graphs of fixed sizes answer as well, with rows and positions to spare and with fewer than the reference has.
func TestFixed(t *testing.T) {
	python(t)
	for _, c := range []struct {
		model        string
		rows, length int
	}{{"sudoku", 4, 81}, {"text", 2, 96}, {"text", 1, 9}, {"molecule-insertion", 8, 0}, {"stars", 0, 16}, {"rxnmapper-albert", 8, 40}} {
		t.Run(fmt.Sprintf("%s-%dx%d", c.model, c.rows, c.length), func(t *testing.T) {
			s := open(t, c.model)
			dir, r := export(t, s, exporters.Options{Rows: c.rows, Length: c.length, Head: exporters.HeadStatistics})
			if r.Verified.Verdict == nil {
				t.Fatalf("verified %+v", r.Verified)
			}
			m, err := model.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if m.FixedRows() != c.rows || m.FixedLength() != c.length {
				t.Errorf("%d rows of %d, expected %d of %d", m.FixedRows(), m.FixedLength(), c.rows, c.length)
			}
			if n, any := len(m.Graph.Graph.Nodes), len(s.Graph.Graph.Nodes); c.rows > 0 && c.length > 0 && n > any+160 {
				t.Errorf("%d nodes from %d, expected shapes to be constants", n, any)
			}
		})
	}
}
