package sampling

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// pass is the memory of one forward pass, reused by the next.
type pass struct {
	open       bool      // a Denoise waits for Plan and Apply
	asked      []Advance // as the sampler gave them
	next       []Advance // memory of the steps that the host takes by itself
	live       []Advance // those that need a forward pass; row i of the batch is live[i]
	stats      *Statistics
	uniform    []float64  // [B, L] the planner's noise
	gumbel     []float64  // [B, L]
	scored     bool       // scores are of this pass
	scores     []float32  // [B, L] of the planner's network
	candidates Candidates // what it read
	step       Step
	decisions  []Decision
	states     []RowState
	opened     []int32 // absolute positions, for observers
	remasked   []int32
}

// denoise runs one forward pass over the rows that have something to open and lays the statistics out for needs.
func (l *Loop) denoise(ctx context.Context, rows []Advance, needs *Needs) error {
	p := &l.pass
	p.asked = append(p.asked[:0], rows...)
	p.live = p.live[:0]
	p.scored, p.scores = false, p.scores[:0]
	length := 0
	for _, r := range rows {
		if r.Slot < 0 || r.Slot >= len(l.slots) || l.slots[r.Slot] == nil {
			return l.misuse(fmt.Sprintf("advances slot %d, which is not in use", r.Slot), slotsHint)
		}
		if slices.ContainsFunc(p.live, func(a Advance) bool { return a.Slot == r.Slot }) {
			return l.misuse(fmt.Sprintf("advances slot %d twice in one pass", r.Slot), "name each slot once")
		}
		c := l.slots[r.Slot]
		c.passAt = c.step
		if c.finish != "" {
			continue
		}
		if c.masked == 0 && !c.goesOn {
			c.finish = FinishComplete
			continue
		}
		p.live = append(p.live, r)
		length = max(length, len(c.tokens))
	}
	p.step.Rows = p.step.Rows[:0]
	if len(p.live) == 0 {
		return ctx.Err()
	}
	if err := l.fill(length); err != nil {
		return err
	}
	start := time.Now()
	stats, err := l.Denoiser.Run(ctx)
	l.accounts.Denoise += time.Since(start)
	if err != nil {
		return err
	}
	l.accounts.Passes++
	l.accounts.RowPasses += len(p.live)
	p.stats = stats
	l.blankPassive()
	l.dropFaulty()
	if err := l.score(ctx, needs); err != nil {
		return err
	}
	l.lay(needs)
	return nil
}

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
		for j, t := range c.tokens {
			tokens[j], attention[j] = int64(t), 1
			if l.wants(c.flags[j]) {
				active[j] = 1
			}
		}
		for j := len(c.tokens); j < length; j++ {
			tokens[j], attention[j] = int64(l.PadID), 0
		}
		b.Params[i], b.Slots[i], b.Fresh[i] = c.request.Params, int32(a.Slot), 0
		if c.nfe == 0 {
			b.Fresh[i] = 1
		}
		if b.Time != nil {
			b.Time[i] = float32(a.T)
		}
		if c.request.Params.Temperature > 0 {
			if l.Draw == DrawGumbel {
				v := len(b.Gumbel) / (b.B * length)
				for j := c.lo; j < c.hi; j++ {
					if active[j] != 0 {
						l.stream.TokenGumbels(b.Gumbel[(i*length+j)*v:(i*length+j+1)*v], c.request.Index, c.step, j)
					}
				}
			} else {
				l.stream.Uniforms(b.Uniform[i*length+c.lo:i*length+c.hi], c.request.Index, c.step, c.lo, PurposeDraw)
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
	columns := [...][]float32{st.LogpProposal, st.P1, st.P2, st.Entropy, st.LogpCurrent, st.KLPrev}
	for i, a := range l.pass.live {
		c := l.slots[a.Slot]
		for j := c.lo; j < c.hi; j++ {
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
		c.nfe++
		for j := c.lo; j < c.hi; j++ {
			q := p.stats.Proposal[i*p.stats.L+j]
			if q >= 0 || !l.wants(c.flags[j]) {
				continue
			}
			c.finish = FinishError
			c.err = fmt.Errorf("row %d, step %d, position %d: the logits %s", c.request.Index, c.step, j, l.fault(q))
			break
		}
	}
}

// fault says what is wrong with logits that gave no proposal, and what to do.
func (l *Loop) fault(proposal int32) string {
	switch {
	case proposal == FaultSuppressed:
		return "leave no token that may be written; shorten sampling.suppress_tokens"
	case l.caps.Provider == "cpu":
		return "are NaN or infinite; check the model: its ONNX file yields NaN or infinity for these tokens"
	}
	return "are NaN or infinite; check the model with --runtime cpu: if they are so there too, its ONNX file yields them for these tokens"
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
		if c.finish != "" {
			continue
		}
		lo, hi := i*length+c.lo, i*length+c.hi
		r := Row{Index: c.request.Index, Slot: a.Slot, Offset: c.lo, Length: len(c.tokens), Blanks: c.blanks, Step: c.step, Steps: c.steps,
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
		if len(p.scores) > 0 {
			r.PlannerScore = part(needs.PlannerScore, p.scores)
		}
		if needs.Uniform {
			r.Uniform = p.uniform[lo:hi]
			l.stream.Uniforms(r.Uniform, c.request.Index, c.step, c.lo, PurposeUniform)
		}
		if needs.Gumbel {
			r.Gumbel = p.gumbel[lo:hi]
			l.stream.Gumbels(r.Gumbel, c.request.Index, c.step, c.lo, PurposeGumbel)
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
		p.step.Rows = append(p.step.Rows, r)
	}
}

// apply checks every decision first and then applies all of them, so that a violation changes nothing.
func (l *Loop) apply(who string, decisions []Decision) error {
	rows := l.pass.step.Rows
	for i := range rows {
		if err := l.rules.check(&rows[i], &decisions[i]); err != nil {
			return &Error{Code: ContractViolation, Object: fmt.Sprintf("%s, row %d, step %d", who, rows[i].Index, rows[i].Step),
				Problem: err.Error(), Hint: "the row was left as it was before the step"}
		}
	}
	for i := range rows {
		if err := l.applyRow(&rows[i], &decisions[i]); err != nil {
			return &Error{Code: ContractViolation, Object: fmt.Sprintf("%s, row %d, step %d", who, rows[i].Index, rows[i].Step), Problem: err.Error()}
		}
	}
	return nil
}

func (l *Loop) applyRow(row *Row, d *Decision) error {
	p, c := &l.pass, l.slots[row.Slot]
	p.opened, p.remasked = p.opened[:0], p.remasked[:0]
	if d.ActedAs > c.step {
		l.accounts.Steps += d.ActedAs - c.step
		c.step = d.ActedAs
	}
	write := func(i int, token int32, logp float32) {
		c.write(row.Offset+i, token, logp)
		p.opened = append(p.opened, int32(row.Offset+i))
	}
	open := func(i int) { write(i, row.Proposal[i], l.logp(row, i)) }
	for _, w := range d.Overwrite {
		write(int(w.Position), w.Token, float32(math.NaN()))
	}
	for _, i := range d.Open {
		open(int(i))
	}
	for _, i := range d.Remask {
		c.remask(row.Offset+int(i), l.MaskID)
		p.remasked = append(p.remasked, int32(row.Offset+int(i)))
	}
	last := c.step+1 >= c.steps
	if d.Fill != FillNone || last && !d.Done {
		filled := false
		for i := range row.Flags {
			if row.Flags[i]&Masked == 0 {
				continue
			}
			token := row.Proposal[i]
			if d.Fill == FillArgmax && c.request.Params.Temperature > 0 {
				if row.K == 0 {
					return fmt.Errorf("asks for fill argmax at a temperature above 0 without the need topk; declare it")
				}
				token = row.TopIDs[i*row.K]
			}
			write(i, token, l.logp(row, i))
			filled = true
		}
		if filled && d.Fill == FillNone {
			c.finish = FinishSteps
		}
	}
	c.step++
	c.nextT, c.goesOn = d.NextT, d.GoOn && c.step < c.steps
	l.accounts.Steps++
	if c.tried != nil {
		c.finish, c.err = FinishError, c.tried
	}
	if c.masked == 0 && c.finish == "" && !c.goesOn {
		c.finish = FinishComplete
	}
	if d.Done && c.finish == "" {
		c.finish = FinishStop
	}
	if len(l.Observers) > 0 {
		f := c.frame(row.Slot, row.Proposal)
		f.Step, f.Opened, f.Remasked, f.Metrics = c.step-1, p.opened, p.remasked, d.Metrics
		f.Logp, f.Entropy = c.logp, l.entropies(row)
		for _, o := range l.Observers {
			o.Stepped(f)
		}
	}
	return nil
}

// logp returns the log-probability of a proposal, NaN when nobody asked for it.
func (l *Loop) logp(row *Row, i int) float32 {
	if lp := l.pass.stats.LogpProposal; lp != nil {
		for b, a := range l.pass.live {
			if a.Slot == row.Slot {
				return lp[b*l.pass.stats.L+row.Offset+i]
			}
		}
	}
	return float32(math.NaN())
}

// entropies returns the entropies of the row's window, nil when nobody asked for them.
func (l *Loop) entropies(row *Row) []float32 {
	st := l.pass.stats
	if st.Entropy == nil {
		return nil
	}
	for b, a := range l.pass.live {
		if a.Slot == row.Slot {
			return st.Entropy[b*st.L+row.Offset:][:len(row.Flags)]
		}
	}
	return nil
}

// frame describes the row to observers; guess holds the window's proposals, or nil.
func (c *canvas) frame(slot int, guess []int32) Frame {
	return Frame{Index: c.request.Index, Slot: slot, Step: c.step, Steps: c.steps, NFE: c.nfe, Tokens: c.tokens, Flags: c.flags, Guess: guess, GuessAt: c.lo}
}
