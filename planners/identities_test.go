package planners_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// Planners that must decide alike: the limits and special cases of the methods.
var identities = []struct{ a, with, b, like string }{
	{"threshold", `{"threshold":0}`, "sequential", everything},
	{"threshold", `{"threshold":1,"strict":true}`, "confidence", top1},
	{"threshold", `{"threshold":"inf","minimal_topk":3,"confidence":"drawn"}`, "low_confidence", `{"k":3,"schedule":"k"}`},
	{"threshold", `{"threshold":"inf","fallback":"scheduled"}`, "confidence", `{"schedule":"uniform"}`},
	{"threshold", `{"threshold":0,"max_per_step":2}`, "confidence", `{"k":2,"schedule":"k"}`},
	{"factor", `{"factor":0}`, "confidence", top1},
	{"factor", `{"factor":"inf"}`, "sequential", everything},
	{"eb", `{"gamma":0}`, "entropy", top1},
	{"eb", `{"gamma":0,"proxy":"confidence","confidence":"drawn"}`, "low_confidence", top1},
	{"eb", `{"gamma":"inf"}`, "sequential", everything},
	{"eb", `{"gamma":"inf","max_per_step":3,"proxy":"margin"}`, "margin", `{"k":3,"schedule":"k"}`},
	{"hierarchy", `{"low_threshold":1}`, "low_confidence", top1},
	{"hierarchy", `{"threshold":0}`, "sequential", everything},
	{"dream", `{"alg":"entropy"}`, "entropy", `{"schedule":"dream"}`},
	{"dream", `{"alg":"topk_margin"}`, "margin", `{"schedule":"dream"}`},
	{"dream", `{"alg":"maskgit_plus"}`, "low_confidence", `{"schedule":"dream"}`},
	{"dream", `{"eps":0}`, "ancestral", `{}`}, // the rows of this test stand on the linear grid
	{"ancestral", `{}`, "random", `{"schedule":"stochastic_transfer"}`},
	{"genmd4", `{}`, "ancestral", `{}`}, // all exponents 1
	{"genmd4", `{"noise_removal":"argmax"}`, "ancestral", `{"noise_removal":"argmax"}`},
	{"maskgit", `{"choice_temperature":0}`, "low_confidence", `{"schedule":"cosine"}`},
	{"maskgit", `{"choice_temperature":0,"schedule":"log"}`, "low_confidence", `{"schedule":"log"}`},
	{"remdm", `{"eta":0}`, "ancestral", `{}`},
	{"remdm", `{"strategy":"rescale","eta":0}`, "ancestral", `{}`},
	{"remdm", `{"strategy":"conf","eta":0}`, "ancestral", `{}`},
	{"remdm", `{"t_switch":0,"eta":1}`, "ancestral", `{}`},
	{"remdm", `{"strategy":"forward_backward","t_switch":0,"noise_removal":"argmax"}`, "ancestral", `{"noise_removal":"argmax"}`},
	{"edit", `{"editing_threshold":1,"threshold":0.5}`, "threshold", `{"threshold":0.5}`},
	{"wino", `{"narrow_out":0,"confidence":"max","wide_in":0.5,"min_accept":1000,"max_accept":1000}`, "threshold", `{"threshold":0.5,"strict":true}`},
	{"wino", `{"min_accept":1,"max_accept":1}`, "low_confidence", top1}, // what opens one masks none again
	{"wino", `{"wide_in":"inf"}`, "low_confidence", top1},
	{"wino", `{"narrow_out":0,"wide_in":0,"min_accept":1000,"max_accept":1000}`, "sequential", everything},
	{"p2", `{"eta":0}`, "low_confidence", `{"schedule":"linear"}`},
	{"p2", `{"unmask_score":"keep","eta":7}`, "low_confidence", `{"schedule":"linear"}`},
	{"p2", `{"unmask_score":"keep","mask_score":"margin"}`, "margin", `{"schedule":"linear"}`},
	{"p2", `{"unmask_score":"keep","mask_score":"neg_entropy"}`, "entropy", `{"schedule":"linear"}`},
	{"low_confidence", `{"confidence":"max"}`, "confidence", `{"schedule":"uniform"}`},
	{"pc_sampler", `{"lambda":1e6}`, "sequential", `{}`},
	{"pc_sampler", `{"lambda":0,"alpha":"inf"}`, "low_confidence", `{"schedule":"auto"}`},
	{"pc_sampler", `{"alpha":0,"lambda":0}`, "sequential", `{}`},
	{"density", `{"sigma":0.1}`, "sequential", `{}`}, // a kernel of one position, which is itself masked
	{"halton", `{"rows":1,"cols":1,"schedule":"auto"}`, "sequential", `{}`},
	{"halton", `{"schedule":"arccos","cols":1}`, "halton", `{"schedule":"arccos","cols":1,"k":7}`},
}

const (
	top1       = `{"k":1,"schedule":"k"}`
	everything = `{"k":100,"schedule":"k"}`
)

func TestIdentities(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		r := row(n, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)))
		r.Steps = rapid.IntRange(2, n+2).Draw(rt, "steps")
		r.Step = rapid.IntRange(0, r.Steps-2).Draw(rt, "step") // at the last one all would open everything
		// Rows on LLaDA's schedule: as many masks as it leaves, the rightmost.
		masks := min(max(n-(r.Step*(n/r.Steps)+min(r.Step, n%r.Steps)), 0), n)
		tokens := append(make([]int32, n-masks), try.Blank(masks)...)
		on := try.Row(tokens, r.Step, r.Steps)
		if masks == 0 {
			return
		}
		r.Token, r.Flags, r.Blanks = on.Token, on.Flags, n
		r.T, r.S = 1-float64(r.Step)/float64(r.Steps), 1-float64(r.Step+1)/float64(r.Steps)
		r.AlphaT, r.AlphaS = 1-r.T, 1-r.S
		for i := range r.P1 {
			r.P1[i] = 0.001 + 0.99*r.P1[i]
			r.Entropy[i] += 0.001
			r.LogpProposal[i] -= 0.001
		}
		for _, id := range identities {
			a, b := planners.All()[id.a](), planners.All()[id.b]()
			try.Start(t, a, id.with)
			try.Start(t, b, id.like)
			want, got := try.Ask(t, b, r), try.Ask(t, a, r)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("%s %s at step %d of %d (-%s %s +%s):\n%s", id.a, id.with, r.Step, r.Steps, id.b, id.like, id.a, diff)
			}
		}
	})
}
