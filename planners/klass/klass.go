// Package klass opens the positions whose prediction has come to rest (KLASS, Kim et al. 2025): the model is sure of them,
// and its distribution there hardly changed over the last steps, by KL(p now || p at the step before). Where no position is
// both, as many of the surest open as LLaDA's schedule says.
package klass

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "klass".
type Options struct {
	ConfThreshold float64 `option:"conf_threshold" default:"0.9" min:"0" help:"confidence that a position must exceed; the paper's are 0.6 to 0.9 for LLaDA, 0.8 to 0.9 for Dream"`
	KLThreshold   float64 `option:"kl_threshold" default:"0.01" min:"0" help:"nats, below which the divergence from the step before must lie; the paper's are 0.01 to 0.015 for LLaDA, 0.001 to 0.005 for Dream; 0 opens by schedule alone"`
	HistoryLength int     `option:"history_length" default:"2" min:"1" help:"steps in a row over which the divergence must lie below kl_threshold; no position of a row or block is at rest in its first history_length steps"`
	Unmask        string  `option:"unmask" default:"all" enum:"all,max_conf,min_kl" help:"of the positions at rest open all, the surest, or the one with the smallest divergence"`
	certainty.Largest
	Alg         string `option:"alg" default:"confidence" enum:"confidence,margin,entropy" help:"what ranks the positions where none is at rest: largest confidence, largest p1 - p2, or smallest entropy; KLASS's public file for LLaDA has the sign of entropy flipped and opens the most uncertain"`
	MinimalTopK int    `option:"minimal_topk" default:"1" min:"1" help:"where no position is at rest so many open at least, or as many as LLaDA's schedule opens in this step if those are more"`
}

// New returns the planner "klass". Its steps are only a cap.
func New() sampling.Planner {
	return sdk.NewRunPlanner("klass", build, sdk.Needs(sdk.KLPrev, sdk.P1, sdk.P2, sdk.Entropy, sdk.LogpProposal), sdk.NeedsFor(needs), sdk.Adaptive(),
		sdk.Version("1.0.0"), sdk.Summary("opens what the model is sure of and no longer changes (KLASS)"))
}

func needs(o Options) sampling.Needs {
	n, _ := certainty.NeedsOf(o.Confidence, "model").Union(certainty.NeedsOf(ranked(o), "model")) // both of the model: no conflict
	n.KLPrev = true
	return n
}

// ranked is the measure that ranks positions where none is at rest.
func ranked(o Options) string {
	if o.Alg == "confidence" {
		return o.Confidence
	}
	return o.Alg
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	sure, err := certainty.New(o.Confidence, "model")
	if err != nil {
		return nil, err
	}
	rank, err := certainty.New(ranked(o), "model")
	if err != nil {
		return nil, err
	}
	var calm sdk.RowMemory[[]int] // by absolute position: steps in a row with a small divergence
	return func(r sdk.Row) sdk.Decision {
		all := calm.Of(r)
		for len(*all) < r.Offset+len(r.Flags) {
			*all = append(*all, 0)
		}
		steps := (*all)[r.Offset:]
		for i, kl := range r.KLPrev {
			if steps[i]++; !(float64(kl) < o.KLThreshold) {
				steps[i] = 0
			}
		}
		confidence, eligible := sure.Of(r), r.Eligible()
		rest := eligible.Where(func(i int) bool { return confidence[i] > o.ConfThreshold && steps[i] >= o.HistoryLength })
		if rest.Len() == 0 {
			return r.Open(eligible.LargestBy64(rank.Of(r), max(o.MinimalTopK, count.LLaDA(r.Blanks, r.Step, r.Steps))))
		}
		switch o.Unmask {
		case "max_conf":
			rest = rest.LargestBy64(confidence, 1)
		case "min_kl":
			rest = rest.SmallestBy(r.KLPrev, 1)
		}
		return r.Open(rest)
	}, nil
}
