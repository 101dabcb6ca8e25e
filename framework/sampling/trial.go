package sampling

import (
	"context"
	"fmt"
	"reflect"
	"slices"
)

// trialRows is the least number of trials that share a pass, however small the run's batch: those of one row go side by side.
const trialRows = 8

// trials is the memory of a Denoise that tries tokens.
type trials struct {
	base   Statistics // of the pass before, whose memory the runtime takes back
	passes []pass
	step   Step
	slots  []*canvas
	rows   []Advance
}

func anyTrial(rows []Advance) bool {
	return slices.ContainsFunc(rows, func(a Advance) bool { return len(a.Trial) > 0 })
}

// try runs the trials, in as many passes as the batch asks for, and returns their rows in the order given. Each is a copy
// of its row's canvas in a slot of its own behind those in use, so that statistics with memory begin anew there and leave
// the row's alone; noise is the row's own. The pass before stays as it was.
func (l *Loop) try(ctx context.Context, rows []Advance) (*Step, error) {
	for _, a := range rows {
		if err := l.checkTrial(a); err != nil {
			return nil, err
		}
	}
	if t := &l.trials; l.pass.open && len(l.pass.step.Rows) > 0 && l.pass.stats != &t.base {
		l.pass.stats.copyTo(&t.base)
		l.pass.stats = &t.base
		l.lay(&l.SamplerNeeds)
	}
	most := l.caps.MaxRows
	if most == 0 {
		most = max(l.Rows, trialRows)
	}
	t, base, used := &l.trials, l.pass, l.slots
	defer func() { l.pass, l.slots = base, used }()
	t.step.Run, t.step.Rows = l.RunID, t.step.Rows[:0]
	for n := 0; len(rows) > 0; n++ {
		if n == len(t.passes) {
			t.passes = append(t.passes, pass{})
		}
		some := rows[:min(most, len(rows))]
		rows = rows[len(some):]
		l.pass = t.passes[n]
		err := l.tryPass(ctx, used, some, len(rows) > 0)
		t.passes[n] = l.pass
		if err != nil {
			return nil, err
		}
	}
	return &t.step, nil
}

// tryPass runs one pass of trials. Where more follow, the statistics move out of the runtime's memory.
func (l *Loop) tryPass(ctx context.Context, used []*canvas, rows []Advance, more bool) error {
	t := &l.trials
	t.slots, t.rows = append(t.slots[:0], make([]*canvas, len(used))...), t.rows[:0]
	for i, a := range rows {
		t.slots = append(t.slots, used[a.Slot].with(a.Trial))
		a.Slot = len(used) + i
		t.rows = append(t.rows, a)
	}
	l.slots = t.slots
	err := l.denoise(ctx, t.rows, &l.SamplerNeeds)
	for i, a := range rows {
		tried, row := t.slots[len(used)+i], used[a.Slot]
		row.nfe, row.partial = row.nfe+tried.nfe, row.partial+tried.partial
		if tried.err != nil {
			row.tried = tried.err
		}
	}
	if err != nil {
		return err
	}
	if p := &l.pass; more {
		p.stats = p.stats.copyTo(new(Statistics))
		l.lay(&l.SamplerNeeds)
	}
	for _, r := range l.pass.step.Rows {
		r.Slot = rows[r.Slot-len(used)].Slot
		t.step.Rows = append(t.step.Rows, r)
	}
	return nil
}

// with returns the canvas with tokens written beside its own. It takes part in a pass even where no mask is left.
func (c *canvas) with(trial []Write) *canvas {
	out := *c
	out.kept = nil
	out.tokens, out.flags, out.goesOn, out.nfe, out.partial = slices.Clone(c.tokens), slices.Clone(c.flags), true, 0, 0
	for _, w := range trial {
		if out.flags[w.Position]&Masked != 0 {
			out.masked--
			if int(w.Position) >= c.hi {
				out.behind--
			}
		}
		out.tokens[w.Position], out.flags[w.Position] = w.Token, 0
	}
	return &out
}

// checkTrial holds a trial against the contract: a row on its way, and tokens that could be written where they stand.
func (l *Loop) checkTrial(a Advance) error {
	if a.Slot < 0 || a.Slot >= len(l.slots) || l.slots[a.Slot] == nil {
		return l.misuse(fmt.Sprintf("tries tokens in slot %d, which is not in use", a.Slot), slotsHint)
	}
	c := l.slots[a.Slot]
	fail := func(format string, args ...any) error {
		return l.misuse(fmt.Sprintf("row %d, step %d: ", c.request.Index, c.step)+fmt.Sprintf(format, args...), "the row was left as it was")
	}
	if c.finish != "" {
		return fail("tries tokens in a row that is finished")
	}
	for i, w := range a.Trial {
		switch {
		case w.Position < 0 || int(w.Position) >= len(c.tokens):
			return fail("tries a token at position %d, but the row has positions 0 to %d", w.Position, len(c.tokens)-1)
		case slices.ContainsFunc(a.Trial[:i], func(v Write) bool { return v.Position == w.Position }):
			return fail("tries two tokens at position %d at once", w.Position)
		case c.flags[w.Position]&Fixed != 0:
			return fail("tries a token at position %d, which is fixed (prompt, special or padding)", w.Position)
		case w.Token < 0 || int(w.Token) >= l.V:
			return fail("tries token %d at position %d, but ids run from 0 to %d", w.Token, w.Position, l.V-1)
		case l.rules.forbidden[w.Token]:
			return fail("tries token %d at position %d, which is the mask or suppressed", w.Token, w.Position)
		}
	}
	return nil
}

// copyTo copies the statistics, whatever there are, into the memory of out, and returns out.
func (s *Statistics) copyTo(out *Statistics) *Statistics {
	from, to := reflect.ValueOf(s).Elem(), reflect.ValueOf(out).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Slice && !f.IsNil() {
			to.Field(i).Set(reflect.AppendSlice(to.Field(i).Slice(0, 0), f))
		} else {
			to.Field(i).Set(f)
		}
	}
	return out
}
