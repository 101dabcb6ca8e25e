package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/supervise"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// call measures what one call to the planner process takes when calls follow each other: transport, coding and the
// planner's own work for 8 rows of 256 positions. In a run the process has slept through a forward pass and is slower to
// wake; [bench.plugin] reports that figure beside this one.
func (b bench) call(ctx context.Context) (err error) {
	process, err := supervise.Launch(ctx, supervise.Spec{Kind: sampling.KindPlanner, Name: "confidence"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Close()) }()
	planner := process.Planner()
	run := sampling.Run{ID: "bench", MaskID: mask, V: vocabulary, Capabilities: sampling.Capabilities{Serves: sampling.Needs{P1: true}}}
	if _, err := planner.Start(ctx, run); err != nil {
		return err
	}
	step, out := planned(8, 256), make([]sampling.Decision, 8)
	var ms []float64
	for round := range 1000 {
		for i := range out {
			out[i].Reset()
		}
		start := time.Now()
		if err := planner.Plan(ctx, step, out); err != nil {
			return err
		}
		if round >= 100 {
			ms = append(ms, time.Since(start).Seconds()*1e3)
		}
	}
	fmt.Printf("# planner confidence, 8 rows of 256: %d calls in succession\n", len(ms))
	return report(os.Stdout, "planner_call_ms", median(ms), "<=0.15")
}

// planned is a step of b rows of l masked positions with random p1.
func planned(b, l int) *sampling.Step {
	step := &sampling.Step{Run: "bench"}
	for i := range b {
		r := sampling.Row{Index: int64(i), Slot: i, Blanks: l, Steps: l, Token: make([]int32, l), Flags: make([]sampling.Flags, l), P1: make([]float32, l)}
		for j := range l {
			r.Token[j], r.Flags[j], r.P1[j] = mask, sampling.Masked|sampling.Eligible, rand.Float32()
		}
		step.Rows = append(step.Rows, r)
	}
	return step
}
