package plugintest

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// blank is a row of n masks.
func blank(index int64, n int) sampling.Request {
	return sampling.Request{Index: index, Tokens: slices.Repeat([]int32{maskID}, n), Params: sampling.Params{Temperature: 1, TopP: 1}}
}

// mixed is a row of n positions with a fixed beginning, masks, and some written positions that are free.
func mixed(rng *rand.Rand, index int64, n int) sampling.Request {
	r := blank(index, n)
	r.Fixed = make([]bool, n)
	for i := range r.Tokens {
		switch u := rng.Float64(); {
		case i < n/5 || u < 0.2:
			r.Tokens[i], r.Fixed[i] = token(rng), true
		case u < 0.3:
			r.Tokens[i] = token(rng)
		}
	}
	r.Tokens[n-1], r.Fixed[n-1] = maskID, false
	return r
}

// token is any but the mask.
func token(rng *rand.Rand) int32 {
	return (maskID + 1 + rng.Int32N(vocabulary-1)) % vocabulary
}

// rows are n rows of different lengths and kinds; numbers of rows are neither small nor in a row.
func (s *session) rows(n int) []sampling.Request {
	rng := rand.New(rand.NewPCG(s.o.Seed, 11))
	var out []sampling.Request
	for i := range n {
		index, length := int64(100+7*i), 5+rng.IntN(32)
		if i%3 == 0 {
			out = append(out, blank(index, length))
		} else {
			out = append(out, mixed(rng, index, length))
		}
	}
	return out
}

// loop is the host's side of a run: its own loop, with a model of noise.
func (s *session) loop(rows []sampling.Request, batch int, planner sampling.Planner, sink func(sampling.Result) error) (*sampling.Loop, error) {
	m := &model{seed: s.o.Seed, grows: s.run.Insertion != nil, flat: s.flat}
	asks, remasks := s.needs, s.about.CanRemask
	if s.target.kind == sampling.KindSampler {
		asks, remasks = steadyNeeds, false
	}
	all, err := s.needs.Union(asks)
	if err != nil {
		return nil, err
	}
	if s.target.kind == sampling.KindPlanner {
		all = s.needs // vectors of vocab_dot are not wanted twice
	}
	head := sampling.Head{Needs: all, Suppress: []int32{maskID}, Present: remasks}
	if all.LogpProposal == sampling.OnNoised {
		head.Draw = sampling.DrawGumbel
	}
	if err := m.Configure(s.ctx, head); err != nil {
		return nil, err
	}
	next := 0
	return sampling.NewLoop(sampling.LoopConfig{
		Denoiser: m, Scorer: m, Planner: planner, PlannerName: s.about.Name, SamplerName: s.about.Name, CanRemask: remasks,
		PlannerNeeds: asks, SamplerNeeds: s.needs, Seed: s.o.Seed, MaskID: maskID, V: vocabulary, Draw: head.Draw, Rows: batch, Growth: s.run.Insertion, RunID: s.run.ID,
		Next: func() (sampling.Request, bool) {
			if next == len(rows) {
				return sampling.Request{}, false
			}
			next++
			return rows[next-1], true
		},
		Sink: sink,
	})
}

// drive takes all rows along the linear grid of times, as the sampler "masked" does.
func drive(ctx context.Context, loop sampling.Session) error {
	var active []sampling.RowState
	for {
		fresh, err := loop.Admit(ctx)
		if err != nil {
			return err
		}
		if active = append(active, fresh...); len(active) == 0 {
			return nil
		}
		after, err := loop.Advance(ctx, onGrid(active))
		if err != nil {
			return err
		}
		var ended []int
		active = active[:0]
		for _, r := range after {
			if r.Done {
				ended = append(ended, r.Slot)
			} else {
				active = append(active, r)
			}
		}
		if err := loop.Emit(ctx, ended); err != nil {
			return err
		}
	}
}

// onGrid is the next step of every row.
func onGrid(rows []sampling.RowState) []sampling.Advance {
	var out []sampling.Advance
	for _, r := range rows {
		n := float64(max(r.Steps, 1))
		a := sampling.Advance{Slot: r.Slot, T: 1 - min(float64(r.Step), n)/n, S: 1 - min(float64(r.Step+1), n)/n}
		if r.NextT > 0 {
			a.T, a.S = r.NextT, max(0, r.NextT-1/n)
		}
		a.AlphaT, a.AlphaS = 1-a.T, 1-a.S
		out = append(out, a)
	}
	return out
}

// step is the first step of rows, with everything that the plugin needs.
func (s *session) step(rows []sampling.Request) (*sampling.Step, error) {
	loop, err := s.loop(rows, len(rows), nil, func(sampling.Result) error { return nil })
	if err != nil {
		return nil, err
	}
	states, err := loop.Admit(s.ctx)
	if err != nil {
		return nil, err
	}
	given, err := loop.Denoise(s.ctx, onGrid(states))
	if err != nil {
		return nil, err
	}
	return cloneStep(given), nil
}

// cloneStep copies a step whose memory belongs to the loop.
func cloneStep(s *sampling.Step) *sampling.Step {
	out := &sampling.Step{Run: s.Run}
	for i := range s.Rows {
		out.Rows = append(out.Rows, cloneRow(&s.Rows[i]))
	}
	return out
}

func cloneRow(r *sampling.Row) sampling.Row {
	c := *r
	c.Token, c.Flags, c.Proposal, c.TopIDs = slices.Clone(r.Token), slices.Clone(r.Flags), slices.Clone(r.Proposal), slices.Clone(r.TopIDs)
	c.FrozenGap = slices.Clone(r.FrozenGap)
	for _, column := range floats(&c) {
		*column = slices.Clone(*column)
	}
	c.Uniform, c.Gumbel, c.GapUniform = slices.Clone(r.Uniform), slices.Clone(r.Gumbel), slices.Clone(r.GapUniform)
	return c
}

// floats are the statistics of a row that the model has a say in.
func floats(r *sampling.Row) []*[]float32 {
	return []*[]float32{&r.LogpProposal, &r.P1, &r.P2, &r.Entropy, &r.LogpCurrent, &r.KLPrev, &r.PlannerScore, &r.LogpLeaveOneOut, &r.InsertionRate, &r.UnmaskRate,
		&r.TopLogp, &r.VocabDot, &r.Logits}
}
