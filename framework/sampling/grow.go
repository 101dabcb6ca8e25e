package sampling

import (
	"errors"
	"fmt"
	"slices"
)

// growthSteps is how many steps a row of an insertion model takes where nobody says.
const growthSteps = 128

// bucketWidth is what the length of a pass over rows that grow is rounded up to, so that a runtime meets few lengths and keeps the
// memory of each; a larger one costs more in padding than it saves.
const bucketWidth = 4

// growing is what a row has besides where it may grow. The row is one window, whose end moves.
type growing struct {
	cap     int
	frozen  []uint8 // [L+1] 1 = the gap before the position (the last: behind the row) may not grow
	born    []int32 // [L] step at which the position was inserted, -1 where it was there from the start
	refused int     // steps whose insertions the cap refused
}

// settleGrowth refuses what rows that grow cannot have. Without an attention mask they go one by one, as rows of one length
// do not stay so.
func (c *LoopConfig) settleGrowth(caps *Capabilities) error {
	switch {
	case c.Blocks.Length > 0:
		return errors.New("blocks: rows of an insertion model grow anywhere and have no blocks; leave out sampling.block_length")
	case c.Stop.Any():
		return errors.New("stop rules: rows of an insertion model end with their last step; leave out sampling.stop and sampling.eos_early_stop")
	case c.PadTo > 0:
		return errors.New("padding: what an insertion model sees is as long as the row; leave out sampling.pad_to")
	case c.Memory:
		return errors.New("credits: they go by position, and positions of an insertion model's rows move; leave out sampling.credit_alpha")
	case c.Guidance.On:
		return errors.New("guidance: an insertion model has no prompt of fixed length to hide; leave out sampling.cfg_scale")
	}
	if !caps.Padding {
		c.Rows = 1
	}
	return nil
}

// grow makes the row one that grows. Where no gap is free and nothing is masked it is complete.
func (c *canvas) grow(by *Growth) error {
	r, n := &c.request, len(c.tokens)
	g := &growing{cap: r.Cap, frozen: make([]uint8, n+1), born: slices.Repeat([]int32{-1}, n)}
	if g.cap == 0 || by.Cap > 0 && by.Cap < g.cap {
		g.cap = by.Cap
	}
	switch {
	case g.cap < 1:
		return fmt.Errorf("row %d: nothing bounds its length; give --length, or length.cap in the model's mdm.json", r.Index)
	case n > g.cap:
		return fmt.Errorf("row %d: has %d positions, expected at most %d, the model's longest row; shorten it", r.Index, n, g.cap)
	case r.FrozenGap != nil && len(r.FrozenGap) != n+1:
		return fmt.Errorf("row %d: %d frozen gaps for %d tokens; give one more than tokens", r.Index, len(r.FrozenGap), n)
	}
	for i, is := range r.FrozenGap {
		if is {
			g.frozen[i] = 1
		}
	}
	if by.Gap == GapEOS {
		g.frozen[n] = 1
	}
	c.grows, c.lo, c.hi, c.behind, c.goesOn = g, 0, n, 0, true
	c.blocks = []block{{hi: n, blanks: c.masked, steps: r.Steps}}
	if r.Steps == 0 {
		c.blocks[0].steps = growthSteps
	}
	c.steps = c.blocks[0].steps
	if c.masked == 0 && !slices.Contains(g.frozen, 0) {
		c.finish = FinishComplete
	}
	return nil
}

// room is how many positions the row may still grow by.
func (c *canvas) room() int {
	if c.grows == nil {
		return 0
	}
	return c.grows.cap - len(c.tokens)
}

// checkGrowth holds insertions against the contract; positions that are deleted have been looked at.
func (c *canvas) checkGrowth(d *Decision) error {
	n, more := len(c.tokens), -len(d.Delete)
	for k, in := range d.Insert {
		switch {
		case in.Gap < 0 || int(in.Gap) > n:
			return fmt.Errorf("inserts at gap %d, but the row has gaps 0 to %d", in.Gap, n)
		case in.Count < 0:
			return fmt.Errorf("inserts %d masks at gap %d; insert 0 or more", in.Count, in.Gap)
		case in.Count > 0 && c.grows.frozen[in.Gap] != 0:
			return fmt.Errorf("inserts %d masks at gap %d, which is frozen", in.Count, in.Gap)
		case slices.ContainsFunc(d.Insert[:k], func(o Insertion) bool { return o.Gap == in.Gap }):
			return fmt.Errorf("names gap %d twice in one step", in.Gap)
		}
		if more += int(in.Count); more > c.room() {
			return fmt.Errorf("grows the row by %d positions or more, but it has %d and may have %d; insert less, and tell what was left out (refused)", more, n, c.grows.cap)
		}
	}
	switch {
	case d.Refused < 0:
		return fmt.Errorf("tells of %d refused insertions; tell 0 or more", d.Refused)
	case d.Done && len(d.Insert) > 0:
		return fmt.Errorf("asks to finish the row and to insert masks")
	}
	return nil
}

// growRow deletes, then inserts, and moves everything that is kept by position. A step that is the row's last inserts nothing,
// as the masks would stay.
func (l *Loop) growRow(c *canvas, d *Decision, last bool) {
	p, insert := &l.pass, d.Insert
	if last {
		insert = nil
	} else if d.Refused > 0 {
		c.grows.refused++
	}
	if len(d.Delete)+len(insert) == 0 {
		return
	}
	p.deleted = append(p.deleted, d.Delete...)
	slices.Sort(p.deleted)
	ordered := slices.SortedFunc(slices.Values(insert), func(a, b Insertion) int { return int(a.Gap - b.Gap) })
	for _, in := range ordered { // by gaps of the row without what was deleted, where two may be one
		before, _ := slices.BinarySearch(p.deleted, in.Gap)
		in.Gap -= int32(before)
		switch k := len(p.inserted) - 1; {
		case in.Count == 0:
		case k >= 0 && p.inserted[k].Gap == in.Gap:
			p.inserted[k].Count += in.Count
		default:
			p.inserted = append(p.inserted, in)
		}
	}
	c.reshape(NewShift(len(c.tokens), p.deleted, p.inserted), l.MaskID)
}

// reshape makes the row anew. A gap's being frozen goes with the token on its right, or the row's end; the gaps of new masks are
// free. Slices of the row as it was, which a step holds, stay as they are.
func (c *canvas) reshape(s Shift, maskID int32) {
	g, n := c.grows, len(c.tokens)
	for p, to := range s.To {
		if to < 0 && c.flags[p]&Masked != 0 {
			c.masked--
		}
	}
	c.masked += len(s.New)
	c.tokens, c.flags = Shifted(s, c.tokens, maskID), Shifted(s, c.flags, Masked|Eligible)
	c.stepMap, c.logp = Shifted(s, c.stepMap, -1), Shifted(s, c.logp, notDrawn)
	g.born, g.frozen = Shifted(s, g.born, int32(c.step)), append(Shifted(s, g.frozen[:n], 0), g.frozen[n])
	c.hi, c.blocks[0].hi = s.Len, s.Len
}

// bucket is the length of a pass whose longest row has n positions.
func (l *Loop) bucket(n int) int {
	n = max(n, 1)
	if l.Growth == nil || !l.caps.Padding {
		return n
	}
	wide := (n + bucketWidth - 1) / bucketWidth * bucketWidth
	for _, most := range []int{l.Growth.Cap, l.caps.MaxLength} {
		if most > 0 {
			wide = min(wide, most)
		}
	}
	return max(n, wide)
}
