package planners_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// state is a row in the golden file's units: 1/4096 for probabilities, uniforms and alphas, 1/64 for the rest.
type state struct {
	Step, Steps, Offset                                            int
	Flags, P1, P2, Logp, Entropy, Uniform, Gumbel, Proposal, Times []int32
}

func (s state) row() sampling.Row {
	tokens, blanks := make([]int32, len(s.Flags)), 0
	var fixed []int
	for i, f := range s.Flags {
		switch {
		case f&1 != 0:
			tokens[i] = try.Mask
		case f&2 != 0:
			fixed = append(fixed, i)
		}
	}
	r := try.Row(tokens, s.Step, s.Steps, fixed...)
	blanks = len(tokens) - len(fixed)
	r.Blanks, r.Offset, r.Proposal = blanks, s.Offset, s.Proposal
	for i, f := range s.Flags {
		if f == 1 {
			r.Flags[i] = sampling.Masked
		}
	}
	single := func(units []int32, unit float32) (out []float32) {
		for _, x := range units {
			out = append(out, float32(x)/unit)
		}
		return out
	}
	double := func(units []int32, unit float64) (out []float64) {
		for _, x := range units {
			out = append(out, float64(x)/unit)
		}
		return out
	}
	r.P1, r.P2, r.LogpProposal, r.Entropy = single(s.P1, 4096), single(s.P2, 4096), single(s.Logp, -64), single(s.Entropy, 64)
	r.Uniform, r.Gumbel = double(s.Uniform, 4096), double(s.Gumbel, 64)
	r.AlphaT, r.AlphaS = float64(s.Times[0])/4096, float64(s.Times[1])/4096
	r.T, r.S = 1-r.AlphaT, 1-r.AlphaS
	return r
}

// Every planner opens what the numpy reference opens, in at least 200 states each.
func TestAgainstReference(t *testing.T) {
	var file struct {
		V      int
		States []state
		Cases  [][5]json.RawMessage // planner, state, options, open, acted as
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &file)
	cases, wrong := map[string]int{}, map[string]int{}
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
		cases[name]++
		p := planners.All()[name]()
		if _, err := p.Start(t.Context(), sampling.Run{ID: "golden", Options: c[2], MaskID: try.Mask, V: file.V}); err != nil {
			t.Fatal(err)
		}
		row := file.States[at].row()
		got := try.Ask(t, p, row)
		if diff := cmp.Diff(want, got.Open, cmpopts.EquateEmpty()); diff != "" || max(got.ActedAs, row.Step) != acted {
			if wrong[name]++; wrong[name] <= 2 {
				t.Errorf("case %d: %s %s, state %d, acted as step %d (reference %d) (-reference +ours):\n%s", n, name, c[2], at, got.ActedAs, acted, diff)
			}
		}
	}
	for name := range planners.All() {
		if own := []string{"dfm", "eb", "edit", "genmd4", "klass", "p2", "remdm", "wino"}; !slices.Contains(own, name) && cases[name] < 200 {
			t.Errorf("%s: %d golden cases, expected at least 200", name, cases[name])
		}
	}
	if len(wrong) > 0 {
		t.Errorf("wrong cases: %v", wrong)
	}
}
