package supervise_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// TestSomebodysPlanner builds the example as its author would, in its own module, and runs it.
func TestSomebodysPlanner(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "calm-planner")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "examples", "calm-planner")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p, err := launch(t, supervise.Spec{Path: binary, Name: "./calm-planner"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Description(); d.Name != "calm" || d.Version != "0.1.0" || !d.Adaptive || d.Needs.String() != "entropy(on=model)" {
		t.Errorf("description %+v", d)
	}
	planner := p.Planner()
	if _, err := planner.Start(context.Background(), sampling.Run{Options: []byte(`{"limit": "inf", "k": 2}`)}); err != nil {
		t.Fatal(err)
	}
	out, err := plan(planner, step())
	if err != nil {
		t.Fatal(err)
	}
	want := []sampling.Decision{{Open: []int32{1, 0}, Metrics: map[string]float64{"calm": 2}}, {Open: []int32{0, 1}, Metrics: map[string]float64{"calm": 2}}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	_, err = planner.Start(context.Background(), sampling.Run{Options: []byte(`{"limit": -1, "limits": 3}`)})
	check(t, err, sampling.InvalidConfig, "planner ./calm-planner: INVALID_CONFIG: option limit: expected a number of at least 0, found -1; option limits: unknown; did you mean limit?; *")
}
