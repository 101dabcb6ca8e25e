package sampling

import (
	"fmt"
	"math"
	"slices"
)

// apply checks every decision first and then applies all of them, so that a violation changes nothing.
func (l *Loop) apply(who string, decisions []Decision) error {
	rows := l.pass.step.Rows
	for i := range rows {
		err := l.rules.check(&rows[i], &decisions[i])
		if g := l.slots[rows[i].Slot]; err == nil && g.grows != nil {
			err = g.checkGrowth(&decisions[i])
		}
		if err != nil {
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
	p.opened, p.remasked, p.deleted, p.inserted = p.opened[:0], p.remasked[:0], p.deleted[:0], p.inserted[:0]
	if as := c.begun + d.ActedAs; as > c.step {
		l.accounts.Steps += as - c.step
		c.step = as
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
	last := c.step+1-c.begun >= c.block().steps || l.spent(c.nfe)
	if d.Fill != FillNone || last && !d.Done {
		end := c.hi
		if last {
			end = c.reach
		}
		filled, err := l.openRest(c, row, end, d.Fill, write)
		if err != nil {
			return err
		}
		early := c.grows == nil || c.step+1 < c.steps // rows that grow have masks up to their last step
		c.capped = c.capped || filled && d.Fill == FillNone && early
	}
	if c.grows != nil {
		l.growRow(c, d, last)
	}
	c.step++
	c.nextT, c.goesOn = d.NextT, (d.GoOn || c.grows != nil && !d.Done) && !last
	c.still = len(p.opened)+len(p.remasked)+len(p.deleted)+len(p.inserted) == 0
	l.accounts.Steps++
	if c.tried != nil {
		c.finish, c.err = FinishError, c.tried
	}
	if d.Done && c.masked > 0 && c.finish == "" {
		c.finish = FinishStop
	}
	if c.finish == "" {
		l.stops(c, p.opened, p.remasked)
	}
	c.turn()
	if len(l.Observers) > 0 {
		f := c.frame(row.Slot, row.Proposal)
		f.Step, f.GuessAt, f.Opened, f.Remasked, f.Metrics = c.step-1, row.Offset, p.opened, p.remasked, d.Metrics
		f.Deleted, f.Inserted = p.deleted, p.inserted
		f.Logp, f.Entropy = c.logp, l.entropies(row)
		for _, o := range l.Observers {
			o.Stepped(f)
		}
	}
	return nil
}

// openRest opens every masked position of the row up to end, and tells whether there was one.
func (l *Loop) openRest(c *canvas, row *Row, end int, how Fill, write func(i int, token int32, logp float32)) (filled bool, err error) {
	st := l.pass.stats
	from := l.pass.row(row.Slot) * st.L
	for j := c.lo; j < end; j++ {
		if c.flags[j]&Masked == 0 {
			continue
		}
		token := st.Proposal[from+j]
		if how == FillArgmax && c.request.Params.Temperature > 0 {
			if row.K == 0 {
				return false, fmt.Errorf("asks for fill argmax at a temperature above 0 without the need topk; declare it")
			}
			token = st.TopIDs[(from+j)*row.K]
		}
		write(j-row.Offset, token, l.logp(row, j-row.Offset))
		filled = true
	}
	return filled, nil
}

// row is where the row of a slot stands in the batch of the pass.
func (p *pass) row(slot int) int {
	return slices.IndexFunc(p.live, func(a Advance) bool { return a.Slot == slot })
}

// logp returns the log-probability of a proposal, NaN when nobody asked for it.
func (l *Loop) logp(row *Row, i int) float32 {
	p := &l.pass
	lp := p.stats.LogpProposal
	if len(p.drawn) > 0 {
		lp = p.drawn
	}
	if lp == nil {
		return float32(math.NaN())
	}
	return lp[p.row(row.Slot)*p.stats.L+row.Offset+i]
}

// entropies returns the entropies of the row's window, nil when nobody asked for them.
func (l *Loop) entropies(row *Row) []float32 {
	p := &l.pass
	if p.stats.Entropy == nil {
		return nil
	}
	return p.stats.Entropy[p.row(row.Slot)*p.stats.L+row.Offset:][:len(row.Flags)]
}

// frame describes the row to observers; guess holds the window's proposals, or nil.
func (c *canvas) frame(slot int, guess []int32) Frame {
	return Frame{Index: c.request.Index, Slot: slot, Step: c.step, Steps: c.steps, NFE: c.nfe, Tokens: c.tokens, Flags: c.flags, Guess: guess, GuessAt: c.lo}
}
