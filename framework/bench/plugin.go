package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// plugin compares the planner in its own process with the same planner in ours, and reports what a call to it takes.
func (b bench) plugin(ctx context.Context) (err error) {
	s := size{8, 256, 1, steps}
	outside, err := b.open(ctx, s.Threads, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, outside.Close()) }()
	inside, err := b.open(ctx, s.Threads, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inside.Close()) }()
	var calls []float64
	ms, err := interleave(2*b.budget, 8, 40,
		subject{"plugin", func() (float64, error) {
			ms, err := outside.measure(ctx, s)
			calls = append(calls, outside.accounts.Plan.Seconds()*1e3/float64(max(outside.accounts.Passes, 1)))
			return ms, err
		}},
		subject{"in process", func() (float64, error) { return inside.measure(ctx, s) }})
	if err != nil {
		return err
	}
	fmt.Printf("# %s: %d rounds, ms per step: plugin %.2f, in process %.2f\n", s, len(ms[0]), median(ms[0]), median(ms[1]))
	return errors.Join(
		report(os.Stdout, "plugin_vs_inprocess", paired(ms[0], ms[1]), "<=1.02"),
		report(os.Stdout, "planner_call_ms", median(calls[1:]), "<=0.15"))
}
