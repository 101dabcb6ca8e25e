package openvino_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/openvino"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model"
)

// TestAnswers lets OpenVINO answer from exports of every precision. Without EXPORT_PYTHON, an interpreter with openvino, exports are looked at alone.
// With -short, as in CI, the narrower precisions are tried with one model of each family.
func TestAnswers(t *testing.T) {
	most := map[string]float64{exporters.FP32: 0, exporters.FP16Weights: 0.1, exporters.INT8: 10} // fp32: the limit of exports
	for _, name := range []string{"molecule", "sudoku", "text", "molecule-insertion", "stars", "rxnmapper-albert"} {
		t.Run(name, func(t *testing.T) {
			s, err := exporters.Open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			for _, precision := range openvino.New().Info().Precisions {
				if testing.Short() && precision != exporters.FP32 && name != "text" && name != "molecule-insertion" {
					continue
				}
				o := exporters.Options{Precision: precision, Head: exporters.HeadStatistics, Python: os.Getenv("EXPORT_PYTHON"), Verify: exporters.VerifyMust}
				if o.Python == "" {
					o.Verify = exporters.VerifyOff
				}
				dir := filepath.Join(t.TempDir(), "out")
				r, err := exporters.Export(t.Context(), openvino.New(), s, o, dir)
				if err != nil {
					t.Fatalf("%s: %v", precision, err)
				}
				m, err := model.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if foreign := graph.Foreign(m.Graph); len(foreign) > 0 || len(m.Graph.Functions) > 0 {
					t.Errorf("%s: the graph calls %q and has %d functions, expected none", precision, foreign, len(m.Graph.Functions))
				}
				v := r.Verified
				if o.Verify == exporters.VerifyOff {
					continue
				}
				if v.Positions == 0 || v.Tokens == 0 || most[precision] > 0 && v.MaxLogit > most[precision] {
					t.Errorf("%s: verified %+v, expected logits within %g", precision, v.Verdict, most[precision])
				}
				t.Logf("| %s | %s | %.2f MB | %.1g | %d of %d |", name, precision, float64(len(m.ONNX))/1e6, v.MaxLogit, v.TokenErrors, v.Tokens)
			}
		})
	}
}
