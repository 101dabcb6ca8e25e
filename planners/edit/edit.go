// Package edit opens every position of which the model is sure enough and overwrites written ones where it has come to
// prefer another token (token editing of LLaDA2.1; SGLang's JointThreshold without its repetition penalty, which changes
// logits). Opening alone is the planner threshold.
package edit

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "edit".
type Options struct {
	Threshold        float64 `option:"threshold" default:"0.95" min:"0" help:"largest probability from which a blank opens, and the surest blank in any case; SGLang 0.5"`
	Strict           bool    `option:"strict" default:"false" help:"the probability must exceed the threshold; else it may equal it"`
	EditingThreshold float64 `option:"editing_threshold" default:"0.9" min:"0" help:"a written token is overwritten by the most probable one where that is another and its probability exceeds this; SGLang 0; 1 = never"`
	MaxPostSteps     int     `option:"max_post_steps" default:"16" min:"0" help:"further steps that edit when no blank is left, until nothing changes. Raise steps too: they are the cap of all"`
}

// New returns the planner "edit". Its steps are only a cap.
func New() sampling.Planner {
	return sdk.NewRunPlanner("edit", build, sdk.Needs(sdk.P1, sdk.TopK(1)), sdk.CanRemask(), sdk.Adaptive(),
		sdk.Version("1.0.0"), sdk.Summary("opens what the model is sure of and overwrites what it no longer prefers (LLaDA2.1)"))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	var rows sdk.RowMemory[int] // steps taken without blanks
	return func(r sdk.Row) sdk.Decision {
		if r.K == 0 {
			return r.Fail(fmt.Errorf("the step has no most probable tokens; expected the statistic topk(1)"))
		}
		sure := func(i int) bool {
			p := float64(r.P1[i])
			return p > o.Threshold || p == o.Threshold && !o.Strict
		}
		edits := r.Written().Where(func(i int) bool {
			return r.TopIDs[i*r.K] != r.Token[i] && float64(r.P1[i]) > o.EditingThreshold
		})
		eligible, post := r.Eligible(), rows.Of(r)
		open := eligible.Where(sure)
		if open.Len() == 0 {
			open = eligible.LargestBy(r.P1, 1)
		}
		d := r.Open(open).OverwriteWith(edits, func(i int) int32 { return r.TopIDs[i*r.K] })
		// A full row goes on until nothing changes.
		left := r.Masked().Len()
		if left == 0 {
			*post++
		}
		if *post < o.MaxPostSteps && o.EditingThreshold < 1 && (left > 0 || edits.Len() > 0) {
			d = d.GoOn()
		}
		return d
	}, nil
}
