package sdk

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// PlanRow decides for one row of one step.
type PlanRow func(Row) Decision

// NewPlanner makes a planner that runs in process. build is called once per run with the run's options; what it keeps
// in its closure lives as long as the run. The planners of the project are values made with it.
func NewPlanner[O any](name string, build func(O) PlanRow, opts ...Option) sampling.Planner {
	return NewRunPlanner(name, func(o O, _ sampling.Run) (PlanRow, error) { return build(o), nil }, opts...)
}

// NewPlannerFunc is [NewPlanner] for planners without options and without memory, which are [Pure].
func NewPlannerFunc(name string, plan PlanRow, opts ...Option) sampling.Planner {
	return NewPlanner(name, func(struct{}) PlanRow { return plan }, append([]Option{Pure()}, opts...)...)
}

// NewRunPlanner is [NewPlanner] for planners that also read the run (temperature, vocabulary, what the runtime can do)
// or that may refuse it with an error.
func NewRunPlanner[O any](name string, build func(O, sampling.Run) (PlanRow, error), opts ...Option) sampling.Planner {
	d, err := define[O](sampling.KindPlanner, name, opts)
	return &planner[O]{definition: d, broken: err, build: build}
}

type planner[O any] struct {
	definition
	broken error // the definition's own mistake
	build  func(O, sampling.Run) (PlanRow, error)
	plan   PlanRow
	mem    memory
}

// Describe returns what the author declared.
func (p *planner[O]) Describe(context.Context) (sampling.Description, error) {
	return p.Description, p.broken
}

// Pure tells whether the host may ask a fresh planner again.
func (p *planner[O]) Pure() bool { return p.pure }

// Start reads the options and builds the run's function.
func (p *planner[O]) Start(_ context.Context, run sampling.Run) (sampling.Needs, error) {
	if p.broken != nil {
		return sampling.Needs{}, p.broken
	}
	o, needs, err := start[O](&p.definition, run)
	if err != nil {
		return sampling.Needs{}, err
	}
	plan, err := p.build(o, run)
	if err != nil {
		return sampling.Needs{}, asError(err, sampling.InvalidConfig, p.object())
	}
	p.plan = plan
	return needs, nil
}

// Plan asks the author's function row by row.
func (p *planner[O]) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	if p.plan == nil {
		return &sampling.Error{Code: sampling.ContractViolation, Object: p.object(), Problem: "Plan came before Start", Hint: "start the run first"}
	}
	for i := range step.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.mem.reset()
		row := &step.Rows[i]
		d := p.plan(Row{Row: row, mem: &p.mem})
		if p.mem.err != nil {
			return asError(p.mem.err, sampling.ContractViolation, fmt.Sprintf("%s, row %d, step %d", p.object(), row.Index, row.Step))
		}
		d.copyInto(&out[i])
	}
	return nil
}

// End drops the run.
func (p *planner[O]) End(context.Context) error {
	p.plan = nil
	return nil
}
