// Command wary-sampler is a complete sampler plugin for mdmhost: it has the planner decide, and of what the planner opens it lets
// only those tokens stand that the model is sure of, at least one a step. A planner that opens a fixed number of positions becomes
// one that waits.
package main

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are what a user may set, as sampler.sure.
type Options struct {
	Sure float64 `option:"sure" default:"0.3" min:"0" max:"1" help:"probability that a token must have to be written; the likeliest one of a step always is"`
}

// Build makes the sampler of one run.
func Build(o Options, _ sampling.Run) (sdk.SampleFunc, error) {
	return func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
			var rows []sampling.Advance
			for _, r := range active {
				rows = append(rows, sdk.ByMasks(r))
			}
			step, err := s.Denoise(ctx, rows)
			if err != nil {
				return nil, err
			}
			var logp [][]float32 // by row; the step itself is gone with the next call
			var last []bool
			for _, r := range step.Rows {
				logp, last = append(logp, slices.Clone(r.LogpProposal)), append(last, r.Step >= r.Steps-1)
			}
			decisions, err := s.Plan(ctx)
			if err != nil {
				return nil, err
			}
			for i := range decisions {
				if !last[i] { // in its last step a row must be finished
					decisions[i].Open = sure(decisions[i].Open, logp[i], o.Sure)
				}
			}
			return s.Apply(ctx, decisions)
		})
	}, nil
}

// sure returns the positions whose proposals have at least that probability, or else the one with the most.
func sure(open []int32, logp []float32, least float64) []int32 {
	if len(open) == 0 {
		return open
	}
	best := slices.MaxFunc(open, func(a, b int32) int { return cmp.Compare(logp[a], logp[b]) })
	return slices.DeleteFunc(slices.Clone(open), func(i int32) bool { return i != best && math.Exp(float64(logp[i])) < least })
}

func main() {
	sdk.ServeSampler(sdk.NewSampler("wary", Build, sdk.Needs(sdk.LogpProposal), sdk.Version("0.1.0"),
		sdk.Summary("lets stand what the planner opens and the model is sure of")))
}
