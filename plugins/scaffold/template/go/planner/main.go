// Command my-planner is a planner of masked diffusion models: it decides which blanks a step opens. As it stands, it opens
// what the model is sure of. Change it to what you have in mind.
package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are what a user may set, here as planner.k and planner.sure. The host knows them from the tags: it checks what it is
// given before the run, and `mdmhost plugin info ./my-planner` shows them.
type Options struct {
	K    int     `option:"k" default:"4" min:"1" help:"positions opened in a step at most"`
	Sure float64 `option:"sure" default:"0.9" min:"0" max:"1" help:"probability of the likeliest token from which a position is opened"`
}

// Plan makes the planner of one run from its options. The function that it returns is called for every row of every step.
// What it keeps in variables of Plan lives as long as the run; for memory of each row there is sdk.RowMemory.
func Plan(o Options) sdk.PlanRow {
	return func(r sdk.Row) sdk.Decision {
		// A row has the statistics that Needs names below, by position. P1 is the probability of the likeliest token.
		best := r.Eligible().LargestBy(r.P1, o.K)
		sure := best.Where(func(i int) bool { return float64(r.P1[i]) >= o.Sure })
		if sure.Len() == 0 {
			sure = best.First(1) // a step that opens nothing would be asked again and again
		}
		// The host writes the tokens that it has drawn; the metric stands in traces.
		return r.Open(sure).Metric("sure", float64(sure.Len()))
	}
}

// New is the planner, for main and for the tests.
func New() sampling.Planner {
	return sdk.NewPlanner("my-planner", Plan,
		sdk.Needs(sdk.P1), // the host computes these statistics and no others
		sdk.Adaptive(),    // it needs as many steps as it needs; --steps does not set their number
		sdk.Pure(),        // it remembers nothing, so that it may be asked again after a crash
		sdk.Version("0.1.0"),
		sdk.Summary("opens what the model is sure of, at least one position a step"))
}

func main() { sdk.Serve(New()) }
