package count

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are those of every planner that opens a scheduled number of positions.
type Options struct {
	K        int    `option:"k" default:"1" min:"1" help:"positions opened a step, with the schedules auto and k"`
	Schedule string `option:"schedule" default:"auto" enum:"auto,k,uniform,linear,cosine,dream,alpha" help:"how many positions each step opens: k; auto = k where steps*k covers the blanks, else uniform; uniform (LLaDA); linear; cosine (MaskGIT); dream; alpha"`
}

// Planner makes a planner's build function from its choice: choose returns at most k eligible positions of the row, and
// may read the statistics that the planner declares.
func Planner(choose func(r sdk.Row, k int) sdk.Positions) func(Options, sampling.Run) (sdk.PlanRow, error) {
	return func(o Options, _ sampling.Run) (sdk.PlanRow, error) {
		stay, err := Named(o.Schedule, o.K)
		if err != nil {
			return nil, err
		}
		return func(r sdk.Row) sdk.Decision {
			k, step := stay.Next(r.Blanks, r.Masked().Len(), r.Step, r.Steps)
			d := r.Open(choose(r, k))
			if step != r.Step {
				d = d.ActAs(step)
			}
			return d
		}, nil
	}
}
