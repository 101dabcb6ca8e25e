package count

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// PerStep is the option of planners that open k positions a step where the schedule says so.
type PerStep struct {
	K int `option:"k" default:"1" min:"1" help:"positions opened a step, with the schedules auto and k"`
}

// Options are those of a planner that opens a scheduled number of positions. Planners with more options embed them.
type Options struct {
	PerStep
	Schedule string `option:"schedule" default:"auto" enum:"auto,k,uniform,linear,dream,alpha,arccos,cosine,pow2,pow3,pow0.5,log,exp,stochastic_transfer" help:"how many positions each step opens: k; auto = k where steps*k covers the blanks, else uniform; uniform (LLaDA); linear; dream; alpha = rounded expectation of the reverse process; arccos (Halton); cosine, pow2, pow3, pow0.5, log, exp (MaskGIT); stochastic_transfer = binomial, with the probability of the sampler's time grid"`
}

// Choose returns at most k eligible positions of the row, the best first, and may read the statistics that the planner
// declares. Step is the step that the choice counts as, which lies beyond the row's own where empty steps are skipped.
type Choose func(r sdk.Row, k, step int) sdk.Positions

// New makes a pure planner with [Options]. What choose reads stands in opts, by [sdk.Needs].
func New(name string, choose Choose, opts ...sdk.Option) sampling.Planner {
	build := func(o Options, _ sampling.Run) (sdk.PlanRow, error) { return Scheduled(o.Schedule, o.K, choose) }
	read := sdk.NeedsOf(opts...)
	opts = append(opts[:len(opts):len(opts)], sdk.Needs(sdk.Uniform), sdk.Pure(),
		sdk.NeedsFor(func(o Options) sampling.Needs { return Needs(o.Schedule, read) }))
	return sdk.NewRunPlanner(name, build, opts...)
}

// Needs adds to a planner's needs what the schedule of that name reads.
func Needs(schedule string, n sampling.Needs) sampling.Needs {
	n.Uniform = n.Uniform || schedule == stochastic
	return n
}

// stochastic is the schedule whose counts are drawn.
const stochastic = "stochastic_transfer"

// Scheduled returns the function of a planner that opens what choose prefers, as many positions a step as the schedule of
// that name says.
func Scheduled(name string, k int, choose Choose) (sdk.PlanRow, error) {
	if name == stochastic {
		return func(r sdk.Row) sdk.Decision { return r.Open(choose(r, Binomial(r).Len(), r.Step)) }, nil
	}
	stay, err := Named(name, k)
	if err != nil {
		return nil, err
	}
	return stay.Rule(choose), nil
}

// Rule returns the function of a planner that opens what choose prefers.
func (s Stay) Rule(choose Choose) sdk.PlanRow {
	return func(r sdk.Row) sdk.Decision {
		k, step := s.Next(r.Blanks, r.Masked().Len(), r.Step, r.Steps)
		d := r.Open(choose(r, k, step))
		if step != r.Step {
			d = d.ActAs(step)
		}
		return d
	}
}

// Binomial returns the eligible positions whose coin shows "open": each with the probability [Transfer], by the row's
// uniforms.
func Binomial(r sdk.Row) sdk.Positions {
	p := Transfer(r)
	return r.Eligible().Where(func(i int) bool { return r.Uniform[i] < p })
}

// Transfer is the probability with which the reverse process opens a masked position between the row's times t and s,
// (alpha_s - alpha_t)/(1 - alpha_t) (MDLM, eq. 7; 1 - s/t for the linear schedule), and 1 at the last step.
func Transfer(r sdk.Row) float64 {
	if r.Step >= r.Steps-1 || r.AlphaT >= 1 {
		return 1
	}
	return (r.AlphaS - r.AlphaT) / (1 - r.AlphaT)
}
