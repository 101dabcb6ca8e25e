// Command calm-planner is a complete planner plugin for mdmhost: in every step it opens the positions that the model is
// calmest about, at least one and at most K, as long as their entropy stays below a limit.
package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// Options are what a user may set, as planner.k and planner.limit.
type Options struct {
	K     int     `option:"k" default:"4" min:"1" help:"positions opened in a step at most"`
	Limit float64 `option:"limit" default:"0.5" min:"0" help:"entropy in nats above which a position waits; inf never waits"`
}

// Plan builds the planner of one run.
func Plan(o Options) sdk.PlanRow {
	return func(r sdk.Row) sdk.Decision {
		calmest := r.Eligible().SmallestBy(r.Entropy, o.K)
		calm := calmest.Where(func(i int) bool { return float64(r.Entropy[i]) <= o.Limit })
		if calm.Len() == 0 {
			calm = calmest.First(1)
		}
		return r.Open(calm).Metric("calm", float64(calm.Len()))
	}
}

func main() {
	sdk.ServePlanner("calm", Plan, sdk.Needs(sdk.Entropy), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("0.1.0"), sdk.Summary("opens what the model is calm about"))
}
