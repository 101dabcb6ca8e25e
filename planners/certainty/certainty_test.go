package certainty_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

func TestMeasures(t *testing.T) {
	row := sdk.NewRow(&sampling.Row{P1: []float32{0.5, 0.75}, P2: []float32{0.25, 0.125}, Entropy: []float32{1, 0.5}, LogpProposal: []float32{-1, 0}})
	for name, c := range map[string]struct {
		on, needs string
		want      []float64
	}{
		"max":     {"tempered", "p1(on=tempered)", []float64{0.5, 0.75}},
		"drawn":   {"tempered", "logp_proposal(on=tempered)", []float64{math.Exp(-1), 1}},
		"margin":  {"model", "p1, p2", []float64{0.25, 0.625}},
		"entropy": {"sampling", "entropy(on=sampling)", []float64{-1, -0.5}},
	} {
		m, err := certainty.New(name, c.on)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, m.Of(row), cmpopts.EquateApprox(0, 1e-15)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := m.Needs().String(); got != c.needs {
			t.Errorf("%s needs %s, want %s", name, got, c.needs)
		}
	}
}

func TestDistributions(t *testing.T) {
	for _, c := range [][3]string{
		{"max", "model", "p1"}, {"max", "sampling", "p1(on=sampling)"},
		{"margin", "tempered", "p1(on=tempered), p2(on=tempered)"}, {"margin", "sampling", "p1(on=sampling), p2(on=sampling)"},
		{"drawn", "sampling", "logp_proposal(on=sampling)"}, {"entropy", "model", "entropy(on=model)"},
	} {
		if got := certainty.NeedsOf(c[0], c[1]).String(); got != c[2] {
			t.Errorf("%s on %s needs %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

// What the host does not serve is refused, never replaced by something near.
func TestRefused(t *testing.T) {
	for _, c := range [][2]string{{"entropy", "tempered"}, {"max", "noised"}, {"drawn", ""}} {
		if _, err := certainty.New(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "set on to one of them") {
			t.Errorf("%s on %s: error %v", c[0], c[1], err)
		}
		if n := certainty.NeedsOf(c[0], c[1]).String(); n != "" {
			t.Errorf("%s on %s needs %s", c[0], c[1], n)
		}
	}
}
