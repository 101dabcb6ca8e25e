//go:build linux && amd64

package supervise_test

import (
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// builtWithVersion1 unpacks a program of testdata/v1.
func builtWithVersion1(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", "v1", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPluginOfVersion1 runs a planner that was built when version 1 was finished beside the same one as it is built today: they say
// the same of themselves, decide the same, and refuse the same, with certificates and without.
func TestPluginOfVersion1(t *testing.T) {
	today := filepath.Join(t.TempDir(), "calm-planner")
	build := exec.Command("go", "build", "-o", today, ".")
	build.Dir = filepath.Join("..", "examples", "calm-planner")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	then := builtWithVersion1(t, "calm-planner")
	for name, spec := range map[string]supervise.Spec{"plain": {}, "certificates": {MTLS: true}} {
		t.Run(name, func(t *testing.T) {
			var processes []*supervise.Process
			for _, path := range []string{then, today} {
				spec.Path, spec.Name = path, "calm"
				p, err := launch(t, spec)
				if err != nil {
					t.Fatal(err)
				}
				processes = append(processes, p)
			}
			if diff := cmp.Diff(processes[1].Description(), processes[0].Description()); diff != "" {
				t.Errorf("description (-today +version 1):\n%s", diff)
			}
			for _, options := range []string{``, `{"k": 3, "limit": "inf"}`, `{"k": 1, "limit": 0.2}`} {
				want, got := decisions(t, processes[1], options), decisions(t, processes[0], options)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("options %q: decisions (-today +version 1):\n%s", options, diff)
				}
			}
			_, err := processes[0].Planner().Start(context.Background(), sampling.Run{Options: []byte(`{"limit": -1, "limits": 3}`)})
			check(t, err, sampling.InvalidConfig, "planner calm: INVALID_CONFIG: option limit: expected a number of at least 0, found -1; option limits: unknown; did you mean limit?; *")
		})
	}
}

// decisions runs a planner for 20 steps of three random rows.
func decisions(t *testing.T, p *supervise.Process, options string) (all []sampling.Decision) {
	t.Helper()
	planner, random := p.Planner(), rand.New(rand.NewPCG(1, 1))
	if _, err := planner.Start(context.Background(), sampling.Run{ID: "r", Options: []byte(options)}); err != nil {
		t.Fatal(err)
	}
	for step := range 20 {
		s := &sampling.Step{Run: "r"}
		for i := range 3 {
			n := random.IntN(12)
			r := sampling.Row{Index: int64(i), Slot: i, Step: step, Steps: 20, Blanks: n, Length: n, Token: make([]int32, n), Flags: make([]sampling.Flags, n), Entropy: make([]float32, n)}
			for j := range n {
				r.Flags[j] = []sampling.Flags{eligible, eligible, sampling.Masked, sampling.Fixed, 0}[random.IntN(5)]
				r.Entropy[j] = float32(random.IntN(8)) / 8 // ties, too
			}
			s.Rows = append(s.Rows, r)
		}
		out, err := plan(planner, s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out...)
	}
	if err := planner.End(context.Background()); err != nil {
		t.Fatal(err)
	}
	return all
}
