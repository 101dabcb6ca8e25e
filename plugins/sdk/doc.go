// Package sdk is the authors' kit of mdmhost plugins.
//
// A planner is a function from one row's statistics to a decision:
//
//	func main() {
//		sdk.ServePlanner("calm", func(o Options) sdk.PlanRow {
//			return func(r sdk.Row) sdk.Decision {
//				return r.Open(r.Eligible().SmallestBy(r.Entropy, o.K))
//			}
//		}, sdk.Needs(sdk.Entropy))
//	}
//
// Options is a plain struct with tags, see package options; options that several plugins share are a struct that each
// embeds. [NewPlanner] makes the same planner as a value that runs in process; [NewSampler] and [ServeSampler] do for
// samplers what their namesakes do for planners. A trainer is a graph, see package trainer: [ServeTrainer], [NewTrainer].
package sdk
