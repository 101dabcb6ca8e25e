package onnx_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
)

// TestSample: the scripts of exports write the rows that those of PyTorch wrote, which are the host's own: with any sizes, and with three rows of fixed length
// and the statistics head.
func TestSample(t *testing.T) {
	python := python(t)
	var golden struct {
		SHA256 map[string]string // held by package pytorch
		Cases  []struct {
			Model, Script string
			Flags         []string
			Tokens        [][]int32
			Text          []string
		}
	}
	goldenfile.Read(t, "../pytorch/testdata/rows.json.gz", &golden)
	if len(golden.Cases) == 0 {
		t.Fatal("no rows")
	}
	dirs := map[string]string{}
	for _, c := range golden.Cases {
		if dirs[c.Model] == "" {
			o := exporters.Options{}
			if c.Model == "sudoku" {
				o = exporters.Options{Head: exporters.HeadStatistics, Rows: 3, Length: 81}
			}
			dirs[c.Model], _ = export(t, open(t, c.Model), o)
		}
		cmd := exec.CommandContext(t.Context(), python, append([]string{"-B", filepath.Join(dirs[c.Model], c.Script), "--format", "jsonl"}, c.Flags...)...)
		cmd.Stderr = os.Stderr
		said, err := cmd.Output()
		if err != nil {
			t.Errorf("%s %q: %v", c.Model, c.Flags, err)
		}
		var got [][]int32
		for line := range strings.Lines(string(said)) {
			var row struct{ Tokens []int32 }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Tokens)
		}
		if diff := cmp.Diff(c.Tokens, got); diff != "" {
			t.Errorf("%s %q (-PyTorch +ONNX Runtime):\n%s", c.Model, c.Flags, diff)
		}
	}
}
