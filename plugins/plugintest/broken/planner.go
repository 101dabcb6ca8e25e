package main

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// planner serves a planner whose rule for a row has the mistake. Everything else is as it should be.
func planner(rule sdk.PlanRow) { runs(func() sdk.PlanRow { return rule }) }

// runs is planner for rules that keep something in a run.
func runs(build func() sdk.PlanRow, more ...sdk.Option) {
	more = append(more, sdk.Needs(sdk.P1), sdk.Version("0.1.0"), sdk.Summary("a fixture"))
	sdk.Serve(sdk.NewPlanner("broken", func(struct{}) sdk.PlanRow { return build() }, more...))
}

// openSome opens the eligible positions that fulfil a condition, and all of them in the last step.
func openSome(r sdk.Row, is func(i int) bool) sdk.Decision {
	if r.Step >= r.Steps-1 {
		return r.Open(r.Eligible())
	}
	return r.Open(r.Eligible().Where(is))
}

// openAll opens the positions given beside all that are eligible, each once.
func openAll(ps sdk.Positions, r sdk.Row) sdk.Decision {
	first := -1
	if ps.Len() > 0 {
		first = int(ps.Indices()[0])
	}
	return r.Open(ps).Open(r.Eligible().Where(func(i int) bool { return i != first }))
}

// byHand is a planner that is written without the kit's row helpers.
type byHand struct {
	needs  sampling.Needs
	asks   func() sampling.Needs // nil: needs
	schema string
	start  func(options []byte) error
	inside func(ctx context.Context, rows int) error // nil: nothing
	plan   func(*sampling.Step, []sampling.Decision) error
	runs   bool
}

func (p *byHand) Describe(context.Context) (sampling.Description, error) {
	schema := p.schema
	if schema == "" {
		schema = `{"type": "object", "properties": {}, "additionalProperties": false}`
	}
	return sampling.Description{Kind: sampling.KindPlanner, Name: "broken", Version: "0.1.0", Summary: "a fixture", Needs: p.needs, OptionsSchema: schema}, nil
}

func (p *byHand) Start(_ context.Context, run sampling.Run) (sampling.Needs, error) {
	check := p.start
	if check == nil {
		check = noOptions
	}
	if err := check(run.Options); err != nil {
		return sampling.Needs{}, err
	}
	p.runs = true
	if p.asks != nil {
		return p.asks(), nil
	}
	return p.needs, nil
}

func (p *byHand) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	if !p.runs {
		return &sampling.Error{Code: sampling.ContractViolation, Object: "planner broken", Problem: "Plan came before Start", Hint: "start the run first"}
	}
	if p.inside != nil {
		if err := p.inside(ctx, len(step.Rows)); err != nil {
			return err
		}
	}
	return p.plan(step, out)
}

func (p *byHand) End(context.Context) error {
	p.runs = false
	return nil
}

// openEvery opens everything that is eligible.
func openEvery(step *sampling.Step, out []sampling.Decision) error {
	for k := range step.Rows {
		for i, f := range step.Rows[k].Flags {
			if f&sampling.Eligible != 0 {
				out[k].Open = append(out[k].Open, int32(i))
			}
		}
	}
	return nil
}

// refuse is an error about options.
func refuse(format string, args ...any) error {
	return &sampling.Error{Code: sampling.InvalidConfig, Object: "planner broken", Problem: fmt.Sprintf(format, args...), Hint: "see its options"}
}
