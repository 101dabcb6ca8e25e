package onnx_test

import (
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/model"
)

// models are the embedded denoisers that this build reads: molecule and its kin need the build tag tokenizers.
func models(t *testing.T) (out []string) {
	t.Helper()
	for _, name := range []string{"molecule", "sudoku", "text", "molecule-insertion", "stars", "rxnmapper-albert"} {
		if _, err := model.Open(name); err == nil {
			out = append(out, name)
		} else {
			t.Logf("without %s: %v", name, err)
		}
	}
	for _, name := range []string{"sudoku", "text", "stars"} {
		if !slices.Contains(out, name) {
			t.Fatalf("%s does not open", name)
		}
	}
	return out
}
