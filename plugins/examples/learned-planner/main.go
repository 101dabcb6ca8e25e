// Command learned-planner is a planner for mdmhost that has learned whom to believe: a small network, trained on recorded steps,
// says how likely the model's proposal at a position is right, and the positions that it trusts open.
package main

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are what a user may set, as planner.sure, planner.least and planner.most.
type Options struct {
	Sure  float64 `option:"sure" default:"0.9" min:"0" max:"1" help:"proposals open that are right with at least this probability; 1 trusts none"`
	Least int     `option:"least" default:"1" min:"1" help:"where fewer are trusted, so many of the most trusted open"`
	Most  int     `option:"most" default:"0" min:"0" help:"positions opened in a step at most, the most trusted; 0 = no limit"`
}

// Build makes the planner of one run.
func Build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	if o.Most > 0 && o.Most < o.Least {
		return nil, fmt.Errorf("most %d: expected at least least %d; raise it, or set 0 for no limit", o.Most, o.Least)
	}
	net, err := Trained()
	if err != nil {
		return nil, err
	}
	limit := math.Log(o.Sure / (1 - o.Sure))
	var trust, x []float64 // reused from row to row
	return func(r sdk.Row) sdk.Decision {
		eligible, masks := r.Eligible(), r.Masked().Len()
		trust = trust[:0]
		for i := range r.Token {
			x = features(x[:0], r, i, masks)
			trust = append(trust, net.Trust(x))
		}
		open := eligible.LargestBy64(trust, eligible.Len())
		if open.Len() == 0 { // nothing is eligible, or a statistic is NaN, which ends the run with an error
			return r.Nothing()
		}
		sure := open.Where(func(i int) bool { return trust[i] >= limit }).Len()
		if o.Most > 0 {
			sure = min(sure, o.Most)
		}
		open = open.First(max(sure, o.Least))
		last := open.Indices()[open.Len()-1]
		return r.Open(open).Metric("trust", trust[last])
	}, nil
}

func main() {
	sdk.Serve(New())
}

// New returns the planner.
func New() sampling.Planner {
	return sdk.NewRunPlanner("learned", Build, sdk.Needs(sdk.P1, sdk.P2, sdk.Entropy, sdk.LogpProposal), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("0.1.0"), sdk.Summary("opens the proposals that a trained network trusts"))
}
