package sdk_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options are what a user may set, as planner.k and planner.limit.
type Options struct {
	K     int     `option:"k" default:"2" min:"1" help:"positions opened in a step at most"`
	Limit float64 `option:"limit" default:"inf" min:"0" help:"entropy in nats above which a position waits; inf never waits"`
}

// Calm opens what the model is calm about.
func Calm(o Options) sdk.PlanRow {
	return func(r sdk.Row) sdk.Decision {
		return r.Open(r.Eligible().SmallestBy(r.Entropy, o.K))
	}
}

// The whole main function of a planner with options.
func ExampleServePlanner() {
	sdk.ServePlanner("calm", Calm, sdk.Needs(sdk.Entropy), sdk.Pure(),
		sdk.Version("0.1.0"), sdk.Summary("opens what the model is calm about"))
}

// The whole main function of a planner without options.
func ExampleServePlannerFunc() {
	sdk.ServePlannerFunc("sure", func(r sdk.Row) sdk.Decision {
		sure := r.Eligible().Where(func(i int) bool { return r.P1[i] > 0.9 })
		if sure.Len() == 0 {
			sure = r.Eligible().LargestBy(r.P1, 1)
		}
		return r.Open(sure)
	}, sdk.Needs(sdk.P1), sdk.Adaptive(), sdk.Summary("opens what the model is sure of"))
}

// A planner that is a value, so that tests and programs can use it in process, is served as it is.
func ExampleServe() {
	calm := sdk.NewPlanner("calm", Calm, sdk.Needs(sdk.Entropy))
	sdk.Serve(calm)
}

// In process, a planner is started and asked as the host does it.
func ExampleNewPlanner() {
	calm := sdk.NewPlanner("calm", Calm, sdk.Needs(sdk.Entropy))
	needs, err := calm.Start(context.Background(), sampling.Run{Options: []byte(`{"k": 1}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("needs", needs)
	out := make([]sampling.Decision, 1)
	err = calm.Plan(context.Background(), &sampling.Step{Rows: []sampling.Row{threeBlanks()}}, out)
	fmt.Println("opens", out[0].Open, err)

	_, err = calm.Start(context.Background(), sampling.Run{Options: []byte(`{"k": 0, "limmit": 1}`)})
	fmt.Println(err)
	// Output:
	// needs entropy(on=model)
	// opens [1] <nil>
	// planner calm: INVALID_CONFIG: option k: expected a whole number of at least 1, found 0; option limmit: unknown; did you mean limit?; `mdmhost plugin info calm` lists the options
}

// threeBlanks is a row of three masked positions.
func threeBlanks() sampling.Row {
	blank := sampling.Masked | sampling.Eligible
	return sampling.Row{
		Steps: 3, Blanks: 3, T: 1, AlphaS: 1. / 3, S: 2. / 3,
		Token: []int32{9, 9, 9}, Flags: []sampling.Flags{blank, blank, blank}, Entropy: []float32{0.7, 0.1, 0.4},
	}
}

// A planner that is nothing but a function.
func ExampleNewPlannerFunc() {
	left := sdk.NewPlannerFunc("left", func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().First(1)) })
	d, err := left.Describe(context.Background())
	fmt.Println(d.Kind, d.Name, err)
	// Output: planner left <nil>
}

// A planner that reads the run, and refuses one that it cannot serve.
func ExampleNewRunPlanner() {
	draws := sdk.NewRunPlanner("draws", func(o Options, run sampling.Run) (sdk.PlanRow, error) {
		if run.Temperature == 0 {
			return nil, errors.New("at temperature 0 nothing is drawn; set sampling.temperature")
		}
		return func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().DrawBy(r.LogpProposal, r.Gumbel, o.K)) }, nil
	}, sdk.Needs(sdk.LogpProposal, sdk.Gumbel), sdk.Pure())
	_, err := draws.Start(context.Background(), sampling.Run{})
	fmt.Println(err)
	// Output: planner draws: INVALID_CONFIG: at temperature 0 nothing is drawn; set sampling.temperature
}

// A planner that remembers its rows between the steps of a run: how often it has seen each.
func ExampleRowMemory() {
	patient := sdk.NewPlanner("patient", func(o Options) sdk.PlanRow {
		var seen sdk.RowMemory[int] // one per run
		return func(r sdk.Row) sdk.Decision {
			steps := seen.Of(r)
			*steps++
			return r.Open(r.Eligible().SmallestBy(r.Entropy, *steps)).Metric("seen", float64(*steps))
		}
	}, sdk.Needs(sdk.Entropy)) // and not sdk.Pure: what it decides depends on earlier steps
	if _, err := patient.Start(context.Background(), sampling.Run{}); err != nil {
		fmt.Println(err)
		return
	}
	row, out := threeBlanks(), make([]sampling.Decision, 1)
	for row.Step = range 2 {
		if err := patient.Plan(context.Background(), &sampling.Step{Rows: []sampling.Row{row}}, out); err != nil {
			fmt.Println(err)
		}
		fmt.Println(out[0].Open, out[0].Metrics)
	}
	// Output:
	// [1] map[seen:1]
	// [1 2] map[seen:2]
}
