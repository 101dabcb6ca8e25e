package planners_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// drawn is a row of the golden file with the logits of its positions, in units of 1/8, and what its tokens are drawn by.
type drawn struct {
	Step, Steps int
	Flags       []sampling.Flags
	Logits      []int
	Uniform     []float64
	Temperature float32
	TopK        int32   `json:"top_k"`
	TopP        float32 `json:"top_p"`
	MinP        float32 `json:"min_p"`
}

// row returns the row with what the host computes for those needs.
func (s *drawn) row(t *testing.T, v int, needs sampling.Needs) sampling.Row {
	l := len(s.Flags)
	r := try.Row(try.Blank(l), s.Step, s.Steps)
	r.Flags = s.Flags
	batch := sampling.Batch{B: 1, L: l, Tokens: make([]int64, l), Active: make([]uint8, l), Uniform: s.Uniform,
		Params: []sampling.Params{{Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP}}}
	for i, f := range s.Flags {
		if f&sampling.Masked == 0 {
			r.Token[i] = 0
		}
		batch.Active[i] = 1
	}
	head := sampling.Head{Needs: needs, Filter: true, Suppress: []int32{int32(v - 1)}}
	var st sampling.Statistics
	if err := sampling.Compute(try.Units(s.Logits, float32(8)), v, &batch, head, &st); err != nil {
		t.Fatal(err)
	}
	r.Proposal, r.LogpProposal, r.P1, r.P2, r.Entropy = st.Proposal, st.LogpProposal, st.P1, st.P2, st.Entropy
	return r
}

// By statistics of other distributions than the model's, planners open what the numpy reference opens, in 240 states each: eb by
// all proxies on sampling, Dream's algorithms, and a threshold.
func TestDistributionsAgainstReference(t *testing.T) {
	var file struct {
		V      int
		States []drawn
		Cases  [][5]json.RawMessage // planner, state, options, open, acted as
	}
	goldenfile.Read(t, "testdata/distributions.json.gz", &file)
	cases := map[string]int{} // by what is asked for
	for n, c := range file.Cases {
		var name string
		var at, acted int
		var want []int32
		for i, to := range []any{&name, &at, nil, &want, &acted} {
			if to != nil {
				if err := json.Unmarshal(c[i], to); err != nil {
					t.Fatal(err)
				}
			}
		}
		p := planners.All()[name]()
		needs := try.Start(t, p, string(c[2]))
		cases[fmt.Sprintf("%s by %s", name, needs)]++
		row := file.States[at].row(t, file.V, needs)
		got := try.Ask(t, p, row)
		if diff := cmp.Diff(want, got.Open, cmpopts.EquateEmpty()); diff != "" || max(got.ActedAs, row.Step) != acted {
			t.Errorf("case %d: %s %s, state %d, acted as step %d (reference %d) (-reference +ours):\n%s", n, name, c[2], at, got.ActedAs, acted, diff)
		}
	}
	for _, name := range []string{
		"eb by entropy(on=sampling)", "eb by p1(on=sampling), entropy(on=sampling)", "eb by p1(on=sampling), p2(on=sampling), entropy(on=sampling)",
		"eb by logp_proposal(on=sampling), entropy(on=sampling)", "dream by p1(on=sampling), p2(on=sampling)", "dream by p1(on=tempered), p2(on=tempered)",
		"dream by logp_proposal(on=sampling)", "dream by logp_proposal(on=tempered)", "dream by entropy(on=sampling)",
		"threshold by p1(on=tempered)", "threshold by p1(on=sampling)",
	} {
		if cases[name] < 200 {
			t.Errorf("%s: %d golden cases, expected at least 200", name, cases[name])
		}
	}
}
