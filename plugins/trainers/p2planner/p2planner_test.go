package p2planner_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/p2planner"
)

// TestAgainstTheReference runs both graphs of both heads on fixed noise: masks, draws, losses, metrics, and gradients by finite
// differences.
func TestAgainstTheReference(t *testing.T) {
	try.Reference(t, "testdata/golden.json.gz", p2planner.New)
}

// TestSureVerdicts: a planner that is as sure as float32 can be, right or wrong, has a finite loss and a finite gradient.
func TestSureVerdicts(t *testing.T) {
	d := try.Device(t)
	for _, c := range try.Golden(t, "testdata/golden.json.gz") {
		if c.Name != "binary count" && c.Name != "vocabulary count" {
			continue
		}
		for i := range c.Planner {
			c.Planner[i] *= 1e4
		}
		out := c.Run(t, d, c.Build(t, p2planner.New()).Training)
		for _, name := range []string{"loss", "grad"} {
			for _, x := range out[name] {
				if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s: %s has %v", c.Name, name, x)
				}
			}
		}
		if loss := out["loss"][0]; loss < 100 {
			t.Errorf("%s: the loss of sure and wrong verdicts is %v, expected thousands of nats", c.Name, loss)
		}
	}
}

// TestWhatItSays holds the networks, the bound's kind and the summary of both heads.
func TestWhatItSays(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	for options, want := range map[string][]string{
		`{}`:                      {"P2 planner, head binary that sees the masks, temperature 1, mix 0.5, masker count", "fresh", "input_ids attention_mask masked", "keep"},
		`{"mask_pattern": false}`: {"P2 planner, head binary, temperature 1, mix 0.5, masker count", "fresh", "input_ids attention_mask", "keep"},
		`{"head": "vocabulary"}`:  {"P2 planner, head vocabulary, temperature 1, mix 0.5, masker count", "denoiser", "input_ids attention_mask", "logits"},
	} {
		c.Options, c.TakesTime = []byte(options), true // a planner is not told the time
		reply := c.Build(t, p2planner.New())
		n := reply.Spec.Networks[1]
		if got := []string{reply.Summary, n.Init, names(n.Signature.Inputs), names(n.Signature.Outputs)}; !cmp.Equal(want, got) {
			t.Errorf("%s: %s", options, cmp.Diff(want, got))
		}
		if first := reply.Spec.Networks[0]; !first.Frozen || n.Frozen || n.Name != p2planner.Planner || reply.Spec.Bound != spec.Estimate {
			t.Errorf("%s: denoiser frozen %t, planner %q frozen %t, bound %s", options, first.Frozen, n.Name, n.Frozen, reply.Spec.Bound)
		}
	}
}

func names(ports []graph.Port) string {
	var out []string
	for _, p := range ports {
		out = append(out, p.Name)
	}
	return strings.Join(out, " ")
}

func TestRefusals(t *testing.T) {
	c := try.Golden(t, "testdata/golden.json.gz")[0]
	for options, want := range map[string]string{
		`{"head": "none"}`:     `trainer p2planner: INVALID_CONFIG: option head: expected one of binary, vocabulary, found "none"; `,
		`{"mix": 1.5}`:         "trainer p2planner: INVALID_CONFIG: option mix: ",
		`{"temperature": -1}`:  "trainer p2planner: INVALID_CONFIG: option temperature: ",
		`{"masker": "simple"}`: "trainer p2planner: INVALID_CONFIG: option masker: ",
	} {
		c.Options = []byte(options)
		if _, err := p2planner.New().Build(t.Context(), c.Task()); err == nil || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s:\n%v\nwant\n%s...", options, err, want)
		}
	}
}
