package transformers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/exporters/transformers"
)

// peers is an interpreter with torch and transformers.
func peers(t *testing.T) string {
	t.Helper()
	python := os.Getenv("PEERS_PYTHON")
	if python == "" {
		t.Skip("set PEERS_PYTHON to a Python with torch and transformers: ./dev peers installs one")
	}
	return python
}

// models are those that come along.
var models = []string{"sudoku", "text", "molecule", "rxnmapper-albert", "molecule-insertion", "stars"}

// Both stacks answer from every export as ONNX Runtime does from the source: [exporters.Export] fails where they do not.
func TestStacksAnswerAsTheSource(t *testing.T) {
	python := peers(t)
	for _, name := range models {
		s, err := exporters.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range []exporters.Target{pytorch.New(), transformers.New()} {
			for _, precision := range target.Info().Precisions {
				if precision != exporters.FP32 && name != "stars" {
					continue // the same weights for every other model, which the ONNX file has in half precision
				}
				t.Run(name+" "+target.Info().Name+" "+precision, func(t *testing.T) {
					o := exporters.Options{Verify: exporters.VerifyMust, Python: python, Precision: precision}
					result, err := exporters.Export(t.Context(), target, s, o, filepath.Join(t.TempDir(), "out"))
					if err != nil {
						t.Fatal(err)
					}
					v := result.Verified
					if v.Positions == 0 || v.Tokens == 0 {
						t.Errorf("%d positions and %d tokens were compared, expected some", v.Positions, v.Tokens)
					}
					size := int64(0)
					for _, f := range result.Files {
						size += f.Bytes
					}
					t.Logf("%s, %d bytes", v.Verdict, size)
				})
			}
		}
	}
}
