// Package masked is the sampler of masked diffusion models: one forward pass and one decision of the planner per step,
// rows replaced as soon as they are finished.
package masked

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// New returns the sampler. It has no options of its own: steps, times and counts follow from the row and the planner.
func New() sampling.Sampler { return &sampler{} }

type sampler struct {
	rows  []sampling.Advance
	ended []int
}

// Describe implements [sampling.Sampler].
func (*sampler) Describe(context.Context) (sampling.Description, error) {
	return sampling.Description{
		Kind: sampling.KindSampler, Name: "masked", Version: "1.0.0",
		Summary:       "one forward pass and one planner decision per step, on the linear time grid t = 1 - i/steps",
		OptionsSchema: `{"type":"object","properties":{},"additionalProperties":false}`,
	}, nil
}

// Start implements [sampling.Sampler]. The sampler reads no statistics: they go from the runtime to the planner.
func (*sampler) Start(context.Context, sampling.Run) (sampling.Needs, error) {
	return sampling.Needs{}, nil
}

// Sample implements [sampling.Sampler].
func (m *sampler) Sample(ctx context.Context, s sampling.Session) error {
	var active []sampling.RowState
	for {
		fresh, err := s.Admit(ctx)
		if err != nil {
			return err
		}
		active = append(active, fresh...)
		if len(active) == 0 {
			return nil
		}
		m.rows = m.rows[:0]
		for _, r := range active {
			m.rows = append(m.rows, advance(r))
		}
		after, err := s.Advance(ctx, m.rows)
		if err != nil {
			return err
		}
		active, m.ended = active[:0], m.ended[:0]
		for _, r := range after {
			if r.Done {
				m.ended = append(m.ended, r.Slot)
			} else {
				active = append(active, r)
			}
		}
		if len(m.ended) > 0 {
			if err := s.Emit(ctx, m.ended); err != nil {
				return err
			}
		}
	}
}

// End implements [sampling.Sampler].
func (*sampler) End(context.Context) error { return nil }

// advance places step i of n on the linear grid: t = 1 - i/n, s = 1 - (i+1)/n, and alpha = 1 - t for the linear
// schedule (MD4, section 2), with all steps after it. A planner that asked for another time is obeyed for one step.
func advance(r sampling.RowState) sampling.Advance {
	n := float64(max(r.Steps, 1))
	a := sampling.Advance{Slot: r.Slot, T: 1 - float64(r.Step)/n, S: 1 - float64(r.Step+1)/n}
	if r.NextT > 0 {
		a.S = max(0, r.NextT-(a.T-a.S))
		a.T = r.NextT
	}
	a.S = max(a.S, 0)
	a.AlphaT, a.AlphaS = 1-a.T, 1-a.S
	for i := r.Step + 2; i <= r.Steps && r.NextT == 0; i++ {
		t := 1 - float64(i)/n
		a.Ahead = append(a.Ahead, sampling.Time{T: t, Alpha: 1 - t})
	}
	return a
}
