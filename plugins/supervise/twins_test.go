package supervise_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// kit is the interpreter of the authors' kit in Python, which scripts/test-python-kit.sh names.
func kit(t *testing.T) string {
	t.Helper()
	python, set := os.LookupEnv("PYTHON_KIT")
	if !set {
		t.Skip("PYTHON_KIT names no Python, so no example in Python is asked; scripts/test-python-kit.sh runs these tests")
	}
	return python
}

// example starts an example in Python.
func example(t *testing.T, file string) sampling.Planner {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "python"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := launch(t, supervise.Spec{Path: kit(t), Args: []string{filepath.Join(folder, "examples", file)}, Name: file,
		Env: []string{"PYTHONPATH=" + folder}})
	if err != nil {
		t.Fatal(err)
	}
	return p.Planner()
}

// TestPythonDecidesAsGo asks first-party planners and their twins in Python the same 240 rows, of all kinds, for several options each. The
// positions, their order and all else that they decide are equal, metrics to 1e-12.
func TestPythonDecidesAsGo(t *testing.T) {
	for _, c := range []struct {
		file, name string
		options    []string
		drop       string // of the options: what the twin does always
	}{
		{"entropy.py", "entropy", []string{`{"k":1,"schedule":"k"}`, `{"k":3,"schedule":"k"}`}, `,"schedule":"k"`},
		{"eb.py", "eb", []string{`{}`, `{"gamma":1.5,"proxy":"confidence"}`, `{"gamma":0.5,"proxy":"margin","stats_on":"sampling"}`,
			`{"gamma":0.5,"proxy":"confidence","confidence":"drawn"}`, `{"gamma":"inf","max_per_step":3,"min_per_step":2}`,
			`{"gamma":0,"min_per_step":4}`, `{"gamma":1,"max_entropy":0.5}`, `{"gamma":"inf"}`}, "-"},
		{"threshold.py", "threshold", []string{`{}`, `{"threshold":0.5,"strict":true}`, `{"threshold":0.75,"confidence":"drawn"}`,
			`{"threshold":0.9,"fallback":"scheduled","on":"tempered"}`, `{"threshold":0.25,"max_per_step":4,"minimal_topk":3}`,
			`{"threshold":"inf","minimal_topk":2,"on":"sampling","confidence":"drawn"}`, `{"threshold":0}`}, "-"},
	} {
		t.Run(c.file, func(t *testing.T) {
			twin := example(t, c.file)
			for _, options := range c.options {
				compare(t, planners.All()[c.name](), twin, options, strings.ReplaceAll(options, c.drop, ""))
			}
		})
	}
}

// TestLearnedPythonDecidesAsGo builds the example in Go and asks it what the one in Python is asked.
func TestLearnedPythonDecidesAsGo(t *testing.T) {
	twin := example(t, "learned_planner.py")
	folder := filepath.Join("..", "examples", "learned-planner")
	ours, err := os.ReadFile(filepath.Join(folder, "weights.json"))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(filepath.Join("..", "python", "examples", "learned", "weights.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ours, theirs) {
		t.Error("the examples in Go and in Python have different weights.json; copy the one of plugins/python/examples/learned")
	}
	binary := filepath.Join(t.TempDir(), "learned-planner")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p, err := launch(t, supervise.Spec{Path: binary, Name: "learned-planner"})
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []string{`{}`, `{"sure":0.99,"most":5}`, `{"sure":1,"least":3}`, `{"sure":0}`} {
		compare(t, p.Planner(), twin, options, options)
	}
}

// compare asks two planners the same steps.
func compare(t *testing.T, ours, theirs sampling.Planner, options, theirOptions string) {
	t.Helper()
	needs := make([]sampling.Needs, 2)
	for i, c := range []struct {
		planner sampling.Planner
		options string
	}{{ours, options}, {theirs, theirOptions}} {
		var err error
		if needs[i], err = c.planner.Start(t.Context(), sampling.Run{ID: "twins", Options: []byte(c.options), MaskID: 99, V: 99}); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := needs[0].String(), needs[1].String(); a != b {
		t.Errorf("%s: needs %s, its twin %s", options, a, b)
	}
	rng, rows := rand.New(rand.NewPCG(7, 11)), 0
	for rows < 240 {
		step := randomStep(rng)
		rows += len(step.Rows)
		want, err := plan(ours, step)
		if err != nil {
			t.Fatal(err)
		}
		got, err := plan(theirs, step)
		if err != nil {
			t.Fatal(err)
		}
		for i := range step.Rows {
			if diff := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Fatalf("%s, row %d of %d positions, step %d of %d (-ours +its twin):\n%s", options, i, len(step.Rows[i].Token), step.Rows[i].Step, step.Rows[i].Steps, diff)
			}
		}
	}
	for _, p := range []sampling.Planner{ours, theirs} {
		if err := p.End(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// randomStep draws 1 to 8 rows of up to 64 positions: masked ones inside and outside of a block, fixed and written ones; every step of a
// row, its last, too; statistics that are rough, so that they tie, in one row of three.
func randomStep(rng *rand.Rand) *sampling.Step {
	step := &sampling.Step{Run: "twins"}
	for i := range 1 + rng.IntN(8) {
		n := 1 + rng.IntN(64)
		r := sampling.Row{Index: int64(i), Slot: i, Length: n + rng.IntN(3), Steps: 1 + rng.IntN(12)}
		r.Step = rng.IntN(r.Steps)
		r.T = float64(r.Steps-r.Step) / float64(r.Steps)
		r.S = r.T - 1/float64(r.Steps)
		r.AlphaT, r.AlphaS = 1-r.T, 1-r.S
		first, last := rng.IntN(n), n // the block
		if rng.IntN(2) == 0 {
			first, last = 0, 1+rng.IntN(n)
		}
		masked, rough := rng.Float64(), rng.IntN(3) == 0
		for at := range n {
			token, flags := int32(rng.IntN(99)), sampling.Flags(0)
			switch u := rng.Float64(); {
			case u < masked:
				token, flags = 99, sampling.Masked
				r.Blanks++
				if first <= at && at < last {
					flags |= sampling.Eligible
				}
			case u < masked+0.1:
				flags = sampling.Fixed
			case rng.IntN(2) == 0:
				r.Blanks++
			}
			p1 := rng.Float32()
			if rough {
				p1 = float32(1+rng.IntN(4)) / 4
			}
			p2 := (1 - p1) * rng.Float32()
			h, logp := float32(rng.ExpFloat64())*0.3, -float32(rng.ExpFloat64())*0.3
			if rough {
				h, logp, p2 = float32(rng.IntN(4))/4, -float32(rng.IntN(4))/4, 0
			}
			r.Token, r.Flags = append(r.Token, token), append(r.Flags, flags)
			r.P1, r.P2 = append(r.P1, p1), append(r.P2, p2)
			r.Entropy, r.LogpProposal = append(r.Entropy, h), append(r.LogpProposal, logp)
		}
		step.Rows = append(step.Rows, r)
	}
	return step
}
