package sampling_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Rates that are none end their row with an error that says where; at frozen gaps, at written positions and behind the row nobody looks.
func TestRatesThatAreNone(t *testing.T) {
	with := func(more, at int, rate float32) func([]int64) []float32 {
		return func(tokens []int64) []float32 {
			out := constant(1, more)(tokens)
			out[at] = rate
			return out
		}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	mask := int32(4)
	for want, d := range map[string]growDenoiser{
		"gap 1: the insertion rate is NaN":      {gaps: with(1, 1, nan)},
		"gap 2: the insertion rate is +Inf":     {gaps: with(1, 2, inf)},
		"gap 1: the insertion rate is -0.5":     {gaps: with(1, 1, -.5)},
		"position 1: the unmasking rate is NaN": {gaps: constant(1, 1), unmask: with(0, 1, nan)},
		"position 1: the unmasking rate is -1":  {gaps: constant(1, 1), unmask: with(0, 1, -1)},
		"":                                      {gaps: with(1, 0, nan), unmask: with(0, 0, nan)},
		" ":                                     {gaps: constant(math.MaxFloat32, 1), unmask: constant(math.MaxFloat32, 0)},
		"step 0, gap 1: the insertion rate is -3.4028235": {gaps: with(1, 1, -math.MaxFloat32)},
	} {
		g := growth{denoiser: d, cap: 6, requests: []sampling.Request{hot(0, 1, mask)}}
		g.requests[0].FrozenGap = []bool{true, false, false}
		out, _, err := g.do(t)
		if err != nil {
			t.Fatal(err)
		}
		switch r := out[0]; {
		case strings.TrimSpace(want) == "":
			if r.Err != nil || r.Finish == sampling.FinishError {
				t.Errorf("finish %s, error %v, expected none", r.Finish, r.Err)
			}
		case r.Err == nil || !strings.Contains(r.Err.Error(), want) || !strings.Contains(r.Err.Error(), "check the model") || r.NFE != 1:
			t.Errorf("error %v after %d passes, want %q", r.Err, r.NFE, want)
		}
	}
}

// What a sampler may not do with a row that grows, and requests that make none.
func TestGrowthAgainstTheContract(t *testing.T) {
	row := func() sampling.Request {
		return sampling.Request{Tokens: []int32{1, 4, 4}, FrozenGap: []bool{true, false, false, false}}
	}
	for want, decide := range map[string]func(*sampling.Row, *sampling.Decision){
		"inserts at gap 4, but the row has gaps 0 to 3": func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: 4, Count: 1}} },
		"inserts at gap -1":                             func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: -1, Count: 1}} },
		"inserts -1 masks at gap 1":                     func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: 1, Count: -1}} },
		"inserts 1 masks at gap 0, which is frozen":     func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: 0, Count: 1}} },
		"inserts 1 masks at gap 3, which is frozen":     func(_ *sampling.Row, d *sampling.Decision) { d.Insert = []sampling.Insertion{{Gap: 3, Count: 1}} },
		"names gap 1 twice": func(_ *sampling.Row, d *sampling.Decision) {
			d.Insert = []sampling.Insertion{{Gap: 1, Count: 1}, {Gap: 1, Count: 1}}
		},
		"but it has 3 and may have 5": func(_ *sampling.Row, d *sampling.Decision) {
			d.Insert = []sampling.Insertion{{Gap: 1, Count: 2}, {Gap: 2, Count: math.MaxInt32}}
		},
		"deletes position 0, which is fixed":           func(_ *sampling.Row, d *sampling.Decision) { d.Delete = []int32{0} },
		"names position 1 twice":                       func(_ *sampling.Row, d *sampling.Decision) { d.Delete, d.Open = []int32{1}, []int32{1} },
		"deletes position 3, but the row's window has": func(_ *sampling.Row, d *sampling.Decision) { d.Delete = []int32{3} },
		"tells of -1 refused insertions":               func(_ *sampling.Row, d *sampling.Decision) { d.Refused = -1 },
		"asks to finish the row and to insert": func(_ *sampling.Row, d *sampling.Decision) {
			d.Insert, d.Done = []sampling.Insertion{{Gap: 1, Count: 1}}, true
		},
		"remasks position 1, which is masked": func(_ *sampling.Row, d *sampling.Decision) { d.Remask = []int32{1} },
	} {
		g := growth{denoiser: growDenoiser{gaps: constant(1, 1)}, gap: sampling.GapEOS, cap: 5, decide: decide, requests: []sampling.Request{row()}}
		out, _, err := g.do(t)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "left as it was") {
			t.Errorf("error %v, want %q", err, want)
		}
		if diff := cmp.Diff([]int32{1, 4, 4}, out[0].Tokens); diff != "" {
			t.Errorf("%s: the row was changed: %s", want, diff)
		}
	}
	nothing := func(*sampling.Row, *sampling.Decision) {}
	for want, change := range map[string]func(*growth){
		"row 0: has 3 positions, expected at most 2":      func(g *growth) { g.cap = 2 },
		"row 0: 2 frozen gaps for 3 tokens":               func(g *growth) { g.requests[0].FrozenGap = []bool{true, false} },
		"row 0: nothing bounds its length; give --length": func(g *growth) { g.cap = 0 },
		"leave out sampling.block_length":                 func(g *growth) { g.frame = func(c *sampling.LoopConfig) { c.Blocks.Length = 4 } },
		"leave out sampling.stop":                         func(g *growth) { g.frame = func(c *sampling.LoopConfig) { c.Stop.EOS = []int32{1} } },
		"leave out sampling.pad_to":                       func(g *growth) { g.frame = func(c *sampling.LoopConfig) { c.PadTo = 7 } },
		"leave out sampling.credit_alpha":                 func(g *growth) { g.frame = func(c *sampling.LoopConfig) { c.Memory = true } },
		"leave out sampling.cfg_scale":                    func(g *growth) { g.frame = func(c *sampling.LoopConfig) { c.Guidance.On = true } },
	} {
		g := growth{denoiser: growDenoiser{gaps: constant(1, 1)}, cap: 5, decide: nothing, requests: []sampling.Request{row()}}
		change(&g)
		if _, _, err := g.do(t); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	g := growth{denoiser: growDenoiser{gaps: constant(1, 1)}, cap: 5, decide: nothing}
	l, _, err := g.loop(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Plan(t.Context()); err == nil || !strings.Contains(err.Error(), "asks the planner, and there is none") {
		t.Errorf("error %v where there is no planner", err)
	}
}
