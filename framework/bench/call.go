package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// planners measures what one call to a planner's process takes when calls follow each other: transport, coding and the
// planner's own work for 8 rows of 256 positions, half of them masked, with the planner's default options. In a run the
// process has slept through a forward pass and is slower to wake; [bench.plugin] reports that figure beside this one.
func (b bench) planners(ctx context.Context) error {
	fmt.Println("# calls of a planner in succession, 8 rows of 256 positions")
	ms, err := callOf(ctx, "confidence")
	if err != nil {
		return err
	}
	if err := report(os.Stdout, "planner_call_ms", ms, "<=0.15"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(planners.All())) {
		ms, err := callOf(ctx, name)
		if err != nil {
			return err
		}
		if err := report(os.Stdout, "planner_call_ms_"+name, ms, "<=0.15"); err != nil {
			return err
		}
	}
	return nil
}

// callOf returns the median of 900 calls, in milliseconds.
func callOf(ctx context.Context, name string) (_ float64, err error) {
	process, err := supervise.Launch(ctx, supervise.Spec{Kind: sampling.KindPlanner, Name: name})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, process.Close()) }()
	planner := process.Planner()
	run := sampling.Run{ID: "bench", MaskID: mask, V: vocabulary, Capabilities: sampling.Capabilities{Serves: process.Description().Needs, State: true}}
	if _, err := planner.Start(ctx, run); err != nil {
		return 0, err
	}
	step, out := planned(8, 256), make([]sampling.Decision, 8)
	var ms []float64
	for round := range 1000 {
		for i := range out {
			out[i].Reset()
		}
		for i := range step.Rows {
			step.Rows[i].Step = min(round, 1) // rows on their way, for planners with memory
		}
		start := time.Now()
		if err := planner.Plan(ctx, step, out); err != nil {
			return 0, err
		}
		if round >= 100 {
			ms = append(ms, time.Since(start).Seconds()*1e3)
		}
	}
	return median(ms), nil
}

// planned is a step in mid-run of b rows of l positions with random statistics.
func planned(b, l int) *sampling.Step {
	step := &sampling.Step{Run: "bench"}
	column := func(scale float32) []float32 {
		out := make([]float32, l)
		for j := range out {
			out[j] = scale * rand.Float32()
		}
		return out
	}
	for i := range b {
		r := sampling.Row{Index: int64(i), Slot: i, Length: l, Blanks: l, Steps: l, T: 0.5, S: 0.5 - 1/float64(l), AlphaT: 0.5, AlphaS: 0.5 + 1/float64(l),
			Token: make([]int32, l), Flags: make([]sampling.Flags, l), Proposal: make([]int32, l), Uniform: make([]float64, l), Gumbel: make([]float64, l),
			P1: column(1), P2: column(0.3), Entropy: column(3), LogpProposal: column(-5), LogpCurrent: column(-5), KLPrev: column(0.1), PlannerScore: column(-5),
			LogpLeaveOneOut: column(-5), K: 1, TopIDs: make([]int32, l), TopLogp: column(-1)}
		for j := range l {
			if r.Proposal[j] = rand.Int32N(mask); j%2 == 0 {
				r.Token[j], r.Flags[j] = mask, sampling.Masked|sampling.Eligible
			}
			r.Uniform[j] = rand.Float64()
			r.Gumbel[j] = -math.Log(-math.Log(r.Uniform[j] + 1e-300))
		}
		step.Rows = append(step.Rows, r)
	}
	return step
}
