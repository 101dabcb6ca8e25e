package count_test

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// The whole main function of a planner that prefers what is calm, with all schedules as its options.
func ExampleNew() {
	sdk.Serve(count.New("calm", func(r sdk.Row, k, _ int) sdk.Positions {
		return r.Eligible().SmallestBy(r.Entropy, k)
	}, sdk.Needs(sdk.Entropy), sdk.Version("0.1.0"), sdk.Summary("opens what the model is calm about")))
}

// Every schedule opens all blanks by its last step.
func ExampleStay() {
	show := func(name string, s count.Stay) {
		fmt.Print(name)
		for step, masked := 0, 10; masked > 0; step++ {
			open, actedAs := s.Next(10, masked, step, 4)
			fmt.Print(" ", open)
			masked, step = masked-open, actedAs
		}
		fmt.Println()
	}
	show("uniform", count.Uniform)
	show("linear", count.Linear)
	show("fixed", count.Fixed(2))
	show("auto", count.Auto(2))
	show("dream", count.Dream(1e-3))
	show("alpha", count.Alpha)
	show("arccos", count.Arccos)
	show("maskgit", count.MaskGIT(count.Cosine))
	show("maskgit, square", count.MaskGIT(count.Power(2)))
	if s, err := count.Named("cosine", 1); err == nil {
		show("by name", s)
	}
	if s, ok := count.NamedRatio("pow2"); ok {
		show("by the ratio's name", s)
	}
	fmt.Println("LLaDA's counts, whatever was opened before:", count.LLaDA(10, 0, 4), count.LLaDA(10, 3, 4))
	fmt.Printf("Dream's probability in the first of 4 steps: %.3f\n", count.DreamTransfer(1e-3, 0, 4))
	// Output:
	// uniform 3 3 2 2
	// linear 3 2 3 2
	// fixed 2 2 2 4
	// auto 3 3 2 2
	// dream 2 2 2 4
	// alpha 2 3 2 3
	// arccos 1 2 2 5
	// maskgit 1 2 4 3
	// maskgit, square 1 2 3 4
	// by name 1 2 4 3
	// by the ratio's name 1 2 3 4
	// LLaDA's counts, whatever was opened before: 3 2
	// Dream's probability in the first of 4 steps: 0.250
}

// A planner with more options than a schedule's embeds them, and makes its function by the schedule's name.
func ExampleScheduled() {
	type options struct {
		count.Options
		Leftmost bool `option:"leftmost" default:"false" help:"from left to right"`
	}
	p := sdk.NewRunPlanner("calm", func(o options, _ sampling.Run) (sdk.PlanRow, error) {
		return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions {
			if o.Leftmost {
				return r.Eligible().First(k)
			}
			return r.Eligible().SmallestBy(r.Entropy, k)
		})
	}, sdk.Needs(sdk.Entropy, sdk.Uniform), sdk.NeedsFor(func(o options) sampling.Needs {
		return count.Needs(o.Schedule, sampling.Needs{Entropy: sampling.OnModel})
	}))
	for _, given := range []string{`{}`, `{"schedule": "stochastic_transfer"}`} {
		needs, err := p.Start(context.Background(), sampling.Run{Options: []byte(given)})
		fmt.Println(needs, err)
	}
	// Output:
	// entropy(on=model) <nil>
	// entropy(on=model), uniform <nil>
}

// A schedule with a rule of one's own is a planner's function.
func ExampleStay_Rule() {
	eligible := sampling.Masked | sampling.Eligible
	row := sampling.Row{Blanks: 3, Steps: 2, Flags: []sampling.Flags{eligible, eligible, eligible}}
	plan := count.Stay(count.Uniform).Rule(func(r sdk.Row, k, step int) sdk.Positions { return r.Eligible().First(k) })
	fmt.Println(plan(sdk.NewRow(&row)).Sampling().Open)
	// Output: [0 1]
}

// Ancestral sampling flips a coin per position, with the probability of the row's times.
func ExampleBinomial() {
	eligible := sampling.Masked | sampling.Eligible
	row := sampling.Row{Steps: 4, AlphaT: 0, AlphaS: 0.25, Flags: []sampling.Flags{eligible, eligible, eligible}, Uniform: []float64{0.9, 0.1, 0.3}}
	r := sdk.NewRow(&row)
	fmt.Println(count.Transfer(r), count.Binomial(r).Indices())
	// Output: 0.25 [1]
}
