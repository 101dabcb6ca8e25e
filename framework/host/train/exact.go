package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// mostExact is the most free positions of a row that is enumerated here: 4095 passes.
const mostExact = 12

// checkExact refuses rows and models that cannot be enumerated.
func (g *gauge) checkExact(d *data.Dataset, rows int) error {
	if err := masked(g.model, "--exact"); err != nil {
		return err
	}
	if t := g.trainer; t != nil && t.reply.Schedule.Kind == spec.PerToken { // planned bounds have no trainer
		return fmt.Errorf("model %s: its tokens have speeds of their own, and enumeration is for schedules that all tokens share; leave --exact out", g.model.Name)
	}
	if g.model.Timesteps {
		return fmt.Errorf("model %s: takes the time, and enumeration is for models without; leave --exact out", g.model.Name)
	}
	return eachRow(d, rows, func(i int, row line) error {
		if n := len(targets(row.fixed)); n > mostExact {
			return fmt.Errorf("row %d: has %d free positions, and --exact enumerates at most %d, every subset of which is a pass; evaluate shorter rows, or leave it out", i, n, mostExact)
		}
		return nil
	})
}

// targets are the free positions.
func targets(fixed []bool) []int {
	out := []int{}
	for i, f := range fixed {
		if !f {
			out = append(out, i)
		}
	}
	return out
}

// exact enumerates the first rows of a set.
func (g *gauge) exact(ctx context.Context, d *data.Dataset, rows, T int, bar *meter) (_ *evaluate.ExactReport, err error) {
	o, err := g.openOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	var schedule *diffusion.Schedule
	var grid diffusion.Grid
	if T > 0 {
		if schedule, err = g.trainer.reply.Schedule.New(); err != nil {
			return nil, err
		}
		if grid, err = diffusion.NewGrid("uniform", T); err != nil {
			return nil, err
		}
	}
	out := &evaluate.ExactReport{}
	var continuous, finite []evaluate.Row
	var likelihood, tokens []float64
	err = eachRow(d, rows, func(i int, row line) error {
		bar.at("exact", int64(i), int64(rows))
		e, err := o.enumerate(ctx, row)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		n := len(targets(row.fixed))
		one := evaluate.ExactRow{Bound: e.Bound(), LogLikelihood: e.LogLikelihood(), Tokens: n}
		if schedule != nil {
			real := g.trainer.task.Real()
			nats := e.FiniteBound(schedule, grid) + schedule.Reconstruction(n, real) + schedule.Prior(n, real)
			one.Finite = &nats
			finite = append(finite, evaluate.Row{Nats: nats, Tokens: n})
		}
		out.Rows = append(out.Rows, one)
		continuous = append(continuous, evaluate.Row{Nats: one.Bound, Tokens: n, Characters: characters(g.model, row.tokens, row.fixed)})
		likelihood, tokens = append(likelihood, one.LogLikelihood), append(tokens, -float64(n))
		return nil
	})
	out.Bound = evaluate.NewBound(g.kind(), continuous)
	out.LogLikelihood, out.BitsPerToken = evaluate.Mean(likelihood), evaluate.Ratio(likelihood, tokens).Bits()
	if schedule != nil {
		out.Finite = &evaluate.Finite{T: T, Schedule: schedule.String(), Bound: evaluate.NewBound(g.kind(), finite)}
	}
	return out, err
}
