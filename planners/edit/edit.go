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
	MaxPostSteps     int     `option:"max_post_steps" default:"16" min:"0" help:"further steps that only edit when one blank is left, until nothing changes; it opens last. A row without blanks is finished, so public code, which edits full blocks, differs in this one position. Raise steps too: they are the cap of all"`
}

// New returns the planner "edit". Its steps are only a cap. Its metric "overwritten" counts the edits of a step.
func New() sampling.Planner {
	return sdk.NewRunPlanner("edit", build, sdk.Needs(sdk.P1, sdk.TopK(1)), sdk.CanRemask(), sdk.Adaptive(),
		sdk.Version("1.0.0"), sdk.Summary("opens what the model is sure of and overwrites what it no longer prefers (LLaDA2.1)"))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	var rows sdk.RowMemory[int] // steps that only edited
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
		// The last blank waits while there is something to edit; a row that fills up while it waits could not.
		if left := r.Masked().Len(); open.Len() == left && *post < o.MaxPostSteps && o.EditingThreshold < 1 {
			switch {
			case left > 1:
				open = open.LargestBy(r.P1, left-1)
			case edits.Len() > 0:
				open = open.First(0)
				*post++
			}
		}
		d := r.Open(open)
		for _, i := range edits.Indices() {
			d = d.Overwrite(int(i), r.TopIDs[int(i)*r.K])
		}
		if edits.Len() > 0 {
			d = d.Metric("overwritten", float64(edits.Len()))
		}
		return d
	}, nil
}
