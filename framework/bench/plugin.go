package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// plugin compares the parts in processes of their own with the same parts in ours, and reports what a call to the planner
// takes.
func (b bench) plugin(ctx context.Context) (err error) {
	s := sizes(1)[3] // B 8, L 256
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
		report(os.Stdout, "planner_call_in_run_ms", median(calls[1:]), ""))
}
