// Command my-sampler is a sampler of masked diffusion models: it decides which rows step when, and at which times. As it
// stands, all rows step together, on a grid of times that may be bent. Change it to what you have in mind.
package main

import (
	"context"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are what a user may set, here as sampler.power. The host knows them from the tags: it checks what it is given before
// the run, and `mdmhost plugin info ./my-sampler` shows them.
type Options struct {
	Power float64 `option:"power" default:"1" min:"0.1" max:"10" help:"times fall as 1 - (i/steps)^power: above 1 the first steps are short, below 1 the last"`
}

// time is where step i of n begins: 1 before the first step, where all is masked, and 0 behind the last.
func (o Options) time(i, n int) float64 {
	return 1 - math.Pow(float64(min(i, n))/float64(max(n, 1)), o.Power)
}

// Step is the next step of a row. alpha is the part of the tokens that is written at a time; 1 - t is the linear schedule,
// which most models are sampled with.
func (o Options) Step(r sampling.RowState) sampling.Advance {
	a := sampling.Advance{Slot: r.Slot, T: o.time(r.Step, r.Steps), S: o.time(r.Step+1, r.Steps)}
	if r.NextT > 0 { // the planner asked for a time, from which the row goes on
		a.T, a.S = r.NextT, max(0, r.NextT-(a.T-a.S))
	}
	a.AlphaT, a.AlphaS = 1-a.T, 1-a.S
	return a
}

// Sample makes the function that drives a run. sdk.Drive takes in waiting rows, hands out those that are done and calls the
// function given to it for the others.
func Sample(o Options, _ sampling.Run) (sdk.SampleFunc, error) {
	return func(ctx context.Context, s sampling.Session) error {
		return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
			var steps []sampling.Advance
			for _, r := range active {
				steps = append(steps, o.Step(r))
			}
			// Advance is one pass of the model over these rows, and the planner's decision about each. A sampler that wants
			// to see the statistics itself calls Denoise, then Plan, and Apply with decisions of its own.
			return s.Advance(ctx, steps)
		})
	}, nil
}

// New is the sampler, for main and for the tests.
func New() sampling.Sampler {
	return sdk.NewSampler("my-sampler", Sample, sdk.Version("0.1.0"), sdk.Summary("steps on a grid of times that may be bent"))
}

func main() { sdk.ServeSampler(New()) }
