package sampling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// pass is the memory of one forward pass, reused by the next.
type pass struct {
	open       bool      // a Denoise waits for Plan and Apply
	asked      []Advance // as the sampler gave them
	next       []Advance // memory of the steps that the host takes by itself
	live       []Advance // those that have something to decide; row i of the statistics is live[i]
	awake      []Advance // memory of those of them that need a forward pass, where some do not
	stats      *Statistics
	uniform    []float64  // [B, L] the planner's noise
	gumbel     []float64  // [B, L]
	scored     bool       // scores are of this pass
	scores     []float32  // [B, L] of the planner's network
	candidates Candidates // what it read
	step       Step
	decisions  []Decision
	timed      bool      // the model reads times
	drawn      []float32 // [B, L] log-probabilities of proposals as they were before some were held back; empty where none were
	states     []RowState
	opened     []int32 // absolute positions, for observers
	remasked   []int32
	deleted    []int32     // likewise
	inserted   []Insertion // by gaps of the row without what was deleted
	unmask     []float32   // [B, L] unmask rates as rows have them
	gapUniform []float64   // [B, L+1] the noise of the gaps
}

// denoise runs one forward pass over the rows that have something to open, but for those that need none, and lays the statistics out
// for needs.
func (l *Loop) denoise(ctx context.Context, rows []Advance, needs *Needs) error {
	p := &l.pass
	p.asked = append(p.asked[:0], rows...)
	p.live = p.live[:0]
	p.scored, p.scores, p.drawn = false, p.scores[:0], p.drawn[:0]
	length := 0
	for _, r := range rows {
		if r.Slot < 0 || r.Slot >= len(l.slots) || l.slots[r.Slot] == nil {
			return l.misuse(fmt.Sprintf("advances slot %d, which is not in use", r.Slot), slotsHint)
		}
		if slices.ContainsFunc(p.live, func(a Advance) bool { return a.Slot == r.Slot }) {
			return l.misuse(fmt.Sprintf("advances slot %d twice in one pass", r.Slot), "name each slot once")
		}
		c := l.slots[r.Slot]
		c.passAt, c.planned = c.step, false
		if r := &c.request; c.finish == "" && r.Context != nil && r.Context.Err() != nil {
			c.finish = FinishCancelled
		}
		if c.finish != "" {
			continue
		}
		if c.masked == 0 && !c.goesOn {
			c.finish = FinishComplete
			continue
		}
		if p.live = append(p.live, r); c.kept == nil {
			length = max(length, l.width(len(c.tokens)))
		}
	}
	p.step.Rows = p.step.Rows[:0]
	if len(p.live) == 0 {
		return ctx.Err()
	}
	all := p.live
	if p.live = l.awake(all); len(p.live) > 0 {
		if err := l.forward(ctx, length); err != nil {
			return err
		}
	} else if ctx.Err() != nil {
		return ctx.Err()
	}
	l.join(all)
	if err := l.score(ctx, needs); err != nil {
		return err
	}
	l.holdBack()
	l.lay(needs)
	return nil
}

// forward runs one pass over the live rows, the longest of which has length positions, and ends those that it says nothing sound of.
func (l *Loop) forward(ctx context.Context, length int) error {
	p := &l.pass
	if err := l.fill(l.bucket(length)); err != nil {
		return err
	}
	start := time.Now()
	stats, err := l.Denoiser.Run(ctx)
	l.accounts.Denoise += time.Since(start)
	if err != nil {
		return err
	}
	l.accounts.Passes++
	l.accounts.RowPasses += len(p.live) * l.Guidance.forwards()
	if stats.Partial {
		l.accounts.Partial++
	}
	if l.Account != nil {
		l.Account(l.accounts)
	}
	p.stats = stats
	l.blankPassive()
	l.dropFaulty()
	l.rates()
	return nil
}

// width is the length at which the model sees a row of n positions.
func (l *Loop) width(n int) int { return max(n, l.PadTo) }

// fill writes the live rows into the denoiser's batch [B, length].
func (l *Loop) fill(length int) error {
	b, err := l.Denoiser.Batch(len(l.pass.live), length)
	if err != nil {
		return err
	}
	for i, a := range l.pass.live {
		c := l.slots[a.Slot]
		tokens, attention, active := b.Tokens[i*length:(i+1)*length], b.Attention[i*length:(i+1)*length], b.Active[i*length:(i+1)*length]
		clear(active)
		c.reach = c.hi
		if l.spent(c.nfe + l.Guidance.forwards()) { // the last pass opens the rest, later blocks included
			c.reach = c.blocks[len(c.blocks)-1].hi
		}
		for j, t := range c.tokens {
			tokens[j], attention[j] = int64(t), 1
			if j >= c.lo && j < c.reach && l.wants(c.flags[j]) {
				active[j] = 1
			}
		}
		seen := l.width(len(c.tokens))
		for j := len(c.tokens); j < seen; j++ {
			tokens[j], attention[j] = int64(l.MaskID), 1
		}
		for j := seen; j < length; j++ {
			tokens[j], attention[j] = int64(l.PadID), 0
		}
		if b.Unconditional != nil {
			l.Guidance.hide(tokens, b.Unconditional[i*length:(i+1)*length], c.flags, l.MaskID)
		}
		b.Params[i], b.Slots[i], b.Fresh[i] = c.request.Params, int32(a.Slot), 0
		if b.Index != nil {
			b.Index[i], b.Step[i] = c.request.Index, int32(c.step)
		}
		if c.nfe <= c.since {
			b.Fresh[i] = 1
		}
		if b.Lo != nil {
			b.Lo[i], b.Hi[i] = int32(c.lo), int32(c.reach)
		}
		if l.pass.timed = b.Time != nil; l.pass.timed {
			t := c.time(a.T)
			if l.FromZero {
				t = 1 - t
			}
			b.Time[i] = float32(t)
		}
		if c.request.Params.Temperature > 0 {
			if l.Draw == DrawGumbel {
				v := len(b.Gumbel) / (b.B * length)
				for j := c.lo; j < c.reach; j++ {
					if active[j] != 0 {
						c.stream.TokenGumbels(b.Gumbel[(i*length+j)*v:(i*length+j+1)*v], c.stream.row, c.step, j)
					}
				}
			} else {
				c.stream.Uniforms(b.Uniform[i*length+c.lo:i*length+c.reach], c.stream.row, c.step, c.lo, PurposeDraw)
			}
		}
	}
	return nil
}

// wants tells whether a position takes part in the pass: masked, or written and open to revision.
func (l *Loop) wants(f Flags) bool { return f&Masked != 0 || l.CanRemask && f&Fixed == 0 }

// blankPassive makes positions outside the pass look the same whatever the runtime left there: no proposal, zeros.
func (l *Loop) blankPassive() {
	st := l.pass.stats
	columns := [...][]float32{st.LogpProposal, st.P1, st.P2, st.Entropy, st.LogpCurrent, st.KLPrev, st.LogpLeaveOneOut}
	for i, a := range l.pass.live {
		c := l.slots[a.Slot]
		for j := c.lo; j < c.reach; j++ {
			if l.wants(c.flags[j]) {
				continue
			}
			at := i*st.L + j
			st.Proposal[at] = -1
			for _, s := range columns {
				if s != nil {
					s[at] = 0
				}
			}
		}
	}
}

// dropFaulty ends the rows whose logits cannot be used; the others go on.
func (l *Loop) dropFaulty() {
	p := &l.pass
	for i, a := range p.live {
		c := l.slots[a.Slot]
		c.nfe += l.Guidance.forwards()
		if p.stats.Partial {
			c.partial += l.Guidance.forwards()
		}
		if p.stats.Failed != nil && p.stats.Failed[i] != nil {
			c.finish = FinishError
			c.err = fmt.Errorf("row %d, step %d: %w", c.request.name(), c.step, p.stats.Failed[i])
			continue
		}
		for j := c.lo; j < c.reach; j++ {
			q := p.stats.Proposal[i*p.stats.L+j]
			if q >= 0 || !l.wants(c.flags[j]) {
				continue
			}
			c.finish = FinishError
			c.err = fmt.Errorf("row %d, step %d, position %d: the logits %w", c.request.name(), c.step, j, l.fault(q))
			break
		}
	}
}

// ErrSuppressed is within the error of a row for which the settings leave no token.
var ErrSuppressed = errors.New("leave no token that may be written; shorten sampling.suppress_tokens")

// fault says what is wrong with logits that gave no proposal, and what to do.
func (l *Loop) fault(proposal int32) error {
	switch {
	case proposal == FaultSuppressed:
		return ErrSuppressed
	case l.caps.Provider == "cpu":
		return errors.New("are NaN or infinite; check the model: its ONNX file yields NaN or infinity for these tokens")
	}
	return errors.New("are NaN or infinite; check the model with --runtime cpu: if they are so there too, its ONNX file yields them for these tokens")
}

// lay points the rows of the step at the statistics that needs names.
func (l *Loop) lay(needs *Needs) {
	p := &l.pass
	st, length := p.stats, p.stats.L
	p.step.Run = l.RunID
	p.step.Rows = p.step.Rows[:0]
	p.uniform = slices.Grow(p.uniform[:0], len(p.live)*length)[:len(p.live)*length]
	if needs.Gumbel {
		p.gumbel = slices.Grow(p.gumbel[:0], len(p.live)*length)[:len(p.live)*length]
	}
	for i, a := range p.live {
		c := l.slots[a.Slot]
		if c.finish != "" || c.planned {
			continue
		}
		lo, hi := i*length+c.lo, i*length+c.hi
		r := Row{Index: c.request.Index, Slot: a.Slot, Offset: c.lo, Length: len(c.tokens), Blanks: c.block().blanks, Behind: c.behind, Step: c.step - c.begun, Steps: c.block().steps,
			T: a.T, S: a.S, AlphaT: a.AlphaT, AlphaS: a.AlphaS, Token: c.tokens[c.lo:c.hi], Flags: c.flags[c.lo:c.hi],
			Proposal: st.Proposal[lo:hi]}
		part := func(is bool, s []float32) []float32 {
			if is && s != nil {
				return s[lo:hi]
			}
			return nil
		}
		r.LogpProposal = part(needs.LogpProposal != NotNeeded, st.LogpProposal)
		r.P1, r.P2 = part(needs.P1, st.P1), part(needs.P2, st.P2)
		r.Entropy = part(needs.Entropy != NotNeeded, st.Entropy)
		r.LogpCurrent = part(needs.LogpCurrent, st.LogpCurrent)
		r.KLPrev = part(needs.KLPrev, st.KLPrev)
		r.LogpLeaveOneOut = part(needs.LogpLeaveOneOut, st.LogpLeaveOneOut)
		if len(p.scores) > 0 {
			r.PlannerScore = part(needs.PlannerScore, p.scores)
		}
		if needs.Uniform {
			r.Uniform = p.uniform[lo:hi]
			c.stream.Uniforms(r.Uniform, c.stream.row, c.step, c.lo, PurposeUniform)
		}
		if needs.Gumbel {
			r.Gumbel = p.gumbel[lo:hi]
			c.stream.Gumbels(r.Gumbel, c.stream.row, c.step, c.lo, PurposeGumbel)
		}
		if k := needs.TopK; k > 0 && st.TopIDs != nil {
			all := len(st.TopIDs) / (st.B * length) // the head serves the largest K that anybody asked for
			r.K, r.TopIDs, r.TopLogp = all, st.TopIDs[lo*all:hi*all], st.TopLogp[lo*all:hi*all]
		}
		if n := len(needs.VocabDot); n > 0 && st.VocabDot != nil {
			r.VocabDot = make([]float32, 0, n*(hi-lo))
			for d := range n {
				o := d * st.B * length
				r.VocabDot = append(r.VocabDot, st.VocabDot[o+lo:o+hi]...)
			}
		}
		if needs.Logits && st.Logits != nil {
			r.V = len(st.Logits) / (st.B * length)
			r.Logits = st.Logits[lo*r.V : hi*r.V]
		}
		if c.grows != nil {
			l.layGaps(&r, c, i, needs)
		}
		p.step.Rows = append(p.step.Rows, r)
	}
}
