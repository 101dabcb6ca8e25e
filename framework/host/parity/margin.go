package parity

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// reference says how close a choice of tokens was, by logits of its own: those of the first contestant's runtime.
type reference struct {
	open func(ctx context.Context) (backend.Denoiser, error)
	head sampling.Head
	d    backend.Denoiser
}

// errUnknown tells that the settings change logits in ways that a single position does not show.
var errUnknown = errors.New("the margin is not known with Gumbel noise, penalties or credits")

// logits returns those of a row as it was seen, [L, V].
func (r *reference) logits(ctx context.Context, s *sight) (_ []float32, v int, err error) {
	if r.head.Draw != sampling.DrawInverseCDF || !r.head.Edits.None() {
		return nil, 0, errUnknown
	}
	if r.d == nil {
		if r.d, err = r.open(ctx); err != nil {
			return nil, 0, err
		}
		if err := r.d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Logits: true}, Suppress: r.head.Suppress, Guidance: r.head.Guidance, Present: true}); err != nil {
			return nil, 0, fmt.Errorf("the margin is not known without logits: %w", err)
		}
	}
	l := len(s.tokens)
	b, err := r.d.Batch(1, l)
	if err != nil {
		return nil, 0, err
	}
	copy(b.Tokens, s.tokens)
	copy(b.Attention, s.attention)
	copy(b.Unconditional, s.unconditional)
	copy(b.Time, s.time)
	copy(b.Uniform, s.uniform)
	for i := range b.Active {
		b.Active[i] = 1
	}
	b.Params[0], b.Slots[0], b.Fresh[0] = s.params, 0, 1
	if b.Lo != nil {
		b.Lo[0], b.Hi[0] = 0, int32(l)
	}
	if b.Index != nil {
		b.Index[0], b.Step[0] = 0, 0
	}
	out, err := r.d.Run(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(out.Logits) == 0 {
		return nil, 0, errors.New("the margin is not known: the runtime gives no logits")
	}
	return out.Logits, len(out.Logits) / l, nil
}

func (r *reference) Close() error {
	if r.d == nil {
		return nil
	}
	return r.d.Close()
}

// position is one distribution over tokens, with the uniform number that draws from it.
type position struct {
	logits  []float32 // [V]
	head    sampling.Head
	params  sampling.Params
	uniform float64
}

// margin is how far the choice was from falling on the other token: at temperature 0 the difference of the two probabilities, else how far
// the uniform number has to move for either of them to be drawn. It is +Inf where one of them cannot be.
func (p position) margin(a, b int32) (float64, error) {
	if p.params.Temperature == 0 {
		return p.gap(a, b)
	}
	worst := 0.0
	for _, token := range []int32{a, b} {
		lo, err := p.from(token)
		if err != nil {
			return 0, err
		}
		hi, err := p.from(token + 1)
		if err != nil {
			return 0, err
		}
		switch {
		case lo >= hi:
			return math.Inf(1), nil
		case p.uniform < lo:
			worst = max(worst, lo-p.uniform)
		case p.uniform >= hi:
			worst = max(worst, p.uniform-hi)
		}
	}
	return worst, nil
}

// from is the smallest uniform number that draws the token or a later one; 1 where none does.
func (p position) from(token int32) (float64, error) {
	lo, hi := 0.0, 1.0
	for range 60 {
		mid := (lo + hi) / 2
		drawn, err := p.draw(mid)
		if err != nil {
			return 0, err
		}
		if drawn >= token {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}

func (p position) draw(u float64) (int32, error) {
	out := sampling.Statistics{}
	err := sampling.Compute(p.logits, len(p.logits), p.batch(u), sampling.Head{Suppress: p.head.Suppress, Filter: p.head.Filter, Below: p.head.Below}, &out)
	if err != nil {
		return 0, err
	}
	return out.Proposal[0], nil
}

// gap is the difference of two probabilities.
func (p position) gap(a, b int32) (float64, error) {
	out := sampling.Statistics{}
	err := sampling.Compute(p.logits, len(p.logits), p.batch(p.uniform), sampling.Head{Suppress: p.head.Suppress, Needs: sampling.Needs{TopK: len(p.logits)}}, &out)
	if err != nil {
		return 0, err
	}
	of := func(token int32) float64 {
		for i, id := range out.TopIDs {
			if id == token && id >= 0 {
				return math.Exp(float64(out.TopLogp[i]))
			}
		}
		return math.Inf(1)
	}
	return math.Abs(of(a) - of(b)), nil
}

func (p position) batch(u float64) *sampling.Batch {
	return &sampling.Batch{B: 1, L: 1, Tokens: []int64{0}, Attention: []int64{1}, Active: []uint8{1}, Params: []sampling.Params{p.params}, Uniform: []float64{u}}
}
