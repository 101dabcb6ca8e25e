package main

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// sampler serves a sampler that has the mistake in its drive.
func sampler(drive sdk.SampleFunc, more ...sdk.Option) {
	more = append(more, sdk.Version("0.1.0"), sdk.Summary("a fixture"))
	sdk.ServeSampler(sdk.NewSampler("broken", func(struct{}, sampling.Run) (sdk.SampleFunc, error) { return drive, nil }, more...))
}

// byMasks is the next step of every row.
func byMasks(rows []sampling.RowState) []sampling.Advance {
	var out []sampling.Advance
	for _, r := range rows {
		out = append(out, sdk.ByMasks(r))
	}
	return out
}

// advance takes all rows one step further and emits those that are done.
func advance(ctx context.Context, s sampling.Session, rows []sampling.RowState) ([]sampling.RowState, error) {
	after, err := s.Advance(ctx, byMasks(rows))
	if err != nil {
		return nil, err
	}
	var left []sampling.RowState
	for _, r := range after {
		if !r.Done {
			left = append(left, r)
		} else if err := s.Emit(ctx, []int{r.Slot}); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// some are decisions that open the eligible positions that fulfil a condition, and all of them in the last step.
func some(step *sampling.Step, is func(row int64, i int) bool) []sampling.Decision {
	out := make([]sampling.Decision, len(step.Rows))
	for k := range step.Rows {
		r := &step.Rows[k]
		for i, f := range r.Flags {
			if f&sampling.Eligible != 0 && (is(r.Index, i) || r.Step >= r.Steps-1) {
				out[k].Open = append(out[k].Open, int32(i))
			}
		}
	}
	return out
}
