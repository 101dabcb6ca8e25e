package onnx_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters"
)

// TestSample: the script of an export solves a Sudoku of its own, with the graph's statistics and with numpy's, for any number of rows and for two.
func TestSample(t *testing.T) {
	python := python(t)
	const board, solved = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79", "534678912672195348198342567859761423426853791713924856961537284287419635345286179"
	s := open(t, "sudoku")
	for _, o := range []exporters.Options{{Head: exporters.HeadStatistics, Rows: 2, Length: 81}, {}} {
		dir, _ := export(t, s, o)
		for _, planner := range []string{"eb", "confidence"}[:1+o.Rows/2] {
			cmd := exec.CommandContext(t.Context(), python, "-B", filepath.Join(dir, "sample.py"), "--infill", board, "--num", "2", "--seed", "8", "--planner", planner)
			cmd.Stderr = os.Stderr
			said, err := cmd.Output()
			if err != nil || strings.TrimSpace(string(said)) != solved+"\n"+solved {
				t.Errorf("%+v, %s: the script wrote %q (%v), expected the solution twice", o, planner, said, err)
			}
		}
	}
}
