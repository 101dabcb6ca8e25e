package sampling_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// One run has one distribution of p1 and p2, and who asks for neither has no say in it.
func TestUnionOfPeaks(t *testing.T) {
	tempered, drawn := sampling.Needs{P1: true, PeaksOn: sampling.OnTempered}, sampling.Needs{P2: true, PeaksOn: sampling.OnSampling}
	for _, c := range []struct {
		a, b sampling.Needs
		want string // or the error
	}{
		{sampling.Needs{P1: true}, sampling.Needs{P2: true, PeaksOn: sampling.OnModel}, "p1, p2"},
		{tempered, sampling.Needs{P2: true, PeaksOn: sampling.OnTempered}, "p1(on=tempered), p2(on=tempered)"},
		{drawn, sampling.Needs{Proposal: true}, "proposal, p2(on=sampling)"},
		{sampling.Needs{PeaksOn: sampling.OnSampling}, sampling.Needs{P1: true}, "p1"},
		{tempered, drawn, "needs p1, p2: one part asks for p1, p2(on=tempered), another for p1, p2(on=sampling); one run serves one of them"},
		{drawn, sampling.Needs{P1: true}, "needs p1, p2: one part asks for p1, p2(on=sampling), another for p1, p2(on=model); one run serves one of them"},
	} {
		for _, pair := range [][2]sampling.Needs{{c.a, c.b}, {c.b, c.a}} {
			n, err := pair[0].Union(pair[1])
			got := n.String()
			if err != nil {
				if got = err.Error(); pair[0].String() != c.a.String() {
					continue // the same with the parts changed about
				}
			}
			if got != c.want {
				t.Errorf("%v and %v: %s, want %s", pair[0], pair[1], got, c.want)
			}
		}
	}
	caps := sampling.Capabilities{Serves: sampling.Needs{P1: true}}
	if missing := caps.Missing(drawn); len(missing) != 1 || missing[0] != "p2(on=sampling)" {
		t.Errorf("missing %q", missing)
	}
	if missing := caps.Missing(tempered); len(missing) != 0 {
		t.Errorf("missing %q", missing)
	}
}
