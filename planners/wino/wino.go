// Package wino opens wide and takes back narrowly (WINO, Hong et al. 2025): in one step every masked position of which the model
// is fairly sure opens, and every written one is masked again whose token the model doubts when that position cannot see itself.
// A step masks fewer positions than it opens, so that a row is full after at most as many steps as it has blanks.
// In the authors' code what stands in for a hidden position sees the stand-ins of its block, too; here it sees the row alone.
package wino

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/certainty"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "wino".
type Options struct {
	WideIn      float64 `option:"wide_in" default:"0.6" min:"0" help:"masked positions open whose confidence exceeds this, and the surest in any case (threshold in WINO's code, wide_in_thres in d2Cache)"`
	NarrowOut   float64 `option:"narrow_out" default:"0.9" min:"0" help:"written tokens are masked again whose leave-one-out probability is below this (threshold_back, narrow_out_thres); 0 = never: the planner threshold with a cap"`
	AcceptRatio float64 `option:"accept_ratio" default:"0.7" min:"0" max:"1" help:"a step opens at most this share of the masks, within min_accept and max_accept"`
	MinAccept   int     `option:"min_accept" default:"5" min:"1" help:"but no fewer are allowed than so many"`
	MaxAccept   int     `option:"max_accept" default:"20" min:"1" help:"and no more than so many"`
	RemaskLimit string  `option:"remask_limit" default:"opened" enum:"opened,opened_before" help:"opened: a step masks fewer positions than it opens itself, so that each leaves fewer masks; opened_before: fewer than the step before opened, the row's or block's first step fewer than 30 (WINO's code), so that masks may also grow in number. A step that opens one masks none in either case"`
	certainty.Drawn
}

// first is what WINO's code takes as opened before a block's first step.
const first = 30

// New returns the planner "wino". Its steps are only a cap. Its metric "remasked" counts the positions that a step masks again.
func New() sampling.Planner {
	return sdk.NewRunPlanner("wino", build, sdk.Needs(sdk.P1, sdk.LogpProposal, sdk.LogpLeaveOneOut), sdk.NeedsFor(needs), sdk.CanRemask(), sdk.Adaptive(),
		sdk.Version("1.0.0"), sdk.Summary("opens what the model is fairly sure of, masks again what it doubts without seeing it (WINO)"))
}

func needs(o Options) sampling.Needs {
	n := certainty.NeedsOf(o.Confidence, "model")
	n.LogpLeaveOneOut = o.NarrowOut > 0
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	c, err := certainty.New(o.Confidence, "model")
	if err != nil {
		return nil, err
	}
	if o.MinAccept > o.MaxAccept {
		return nil, fmt.Errorf("min_accept %d, max_accept %d: expected the first to be at most the second; lower it", o.MinAccept, o.MaxAccept)
	}
	var before sdk.RowMemory[int] // positions that the step before opened; 0: there was none
	return func(r sdk.Row) sdk.Decision {
		eligible, score := r.Eligible(), c.Of(r)
		open := eligible.Where(func(i int) bool { return score[i] > o.WideIn })
		switch most := o.accept(r.Masked().Len()); {
		case open.Len() == 0:
			open = eligible.LargestBy64(score, 1)
		case open.Len() > most:
			open = open.LargestBy64(score, most)
		}
		opened := before.Of(r)
		limit := open.Len() - 1
		if o.RemaskLimit == "opened_before" && limit > 0 {
			limit = *opened - 1
			if *opened == 0 {
				limit = first - 1
			}
		}
		*opened = open.Len()
		d := r.Open(open)
		if o.NarrowOut == 0 || limit <= 0 {
			return d
		}
		doubted := r.Written().Where(func(i int) bool { return math.Exp(float64(r.LogpLeaveOneOut[i])) < o.NarrowOut })
		if doubted = doubted.SmallestBy(r.LogpLeaveOneOut, limit); doubted.Len() > 0 {
			d = d.Remask(doubted).Metric("remasked", float64(doubted.Len()))
		}
		return d
	}, nil
}

// accept is how many positions a step may open with so many masked.
func (o *Options) accept(masks int) int {
	return min(max(int(o.AcceptRatio*float64(masks)), o.MinAccept), o.MaxAccept)
}
