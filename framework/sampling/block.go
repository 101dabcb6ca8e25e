package sampling

// Blocks cuts rows into stretches that open one after the other (semi-autoregressive decoding: LLaDA, BD3-LM). The zero
// value is one block, the whole row. A block looks to planners and to the sampler's time grid like a row of its own; the
// model sees the whole row.
type Blocks struct {
	Length   int  // positions of a block; the last one may be shorter; 0 = the whole row
	Absolute bool // blocks begin at multiples of Length (models with block-causal attention), else at the first free position (LLaDA)
}

// block is a stretch of a row that has blanks.
type block struct {
	lo, hi int // its free positions lie in [lo, hi)
	blanks int // at the row's start
	steps  int
}

// cut returns the blocks of a row whose free positions lie in [lo, hi), from left to right. Those without blanks are left
// out, unless the row has none at all.
func (b Blocks) cut(flags []Flags, lo, hi int) []block {
	size, origin := b.Length, lo
	if size <= 0 || size >= hi-lo && !b.Absolute {
		size = max(hi-lo, 1)
	} else if b.Absolute {
		origin = lo - lo%size
	}
	var out []block
	for at := origin; at < hi; at += size {
		one := block{lo: hi}
		for i := max(at, lo); i < min(at+size, hi); i++ {
			if flags[i]&Fixed != 0 {
				continue
			}
			one.lo, one.hi = min(one.lo, i), i+1
			if flags[i]&Masked != 0 {
				one.blanks++
			}
		}
		if one.blanks > 0 {
			out = append(out, one)
		}
	}
	if out == nil {
		out = append(out, block{lo: lo, hi: hi})
	}
	return out
}

// share gives every block its part of the row's steps and returns the sum: one step a blank where steps is 0, else equal
// parts (LLaDA: steps/num_blocks). Where the steps do not divide, the first blocks get one more (as dllm's rounding up gives
// them, without the steps beyond the row's), and every block gets at least one.
func share(blocks []block, steps int) int {
	sum, n := 0, len(blocks)
	for i := range blocks {
		b := &blocks[i]
		if b.steps = b.blanks; steps > 0 {
			b.steps = steps / n
			if i < steps%n {
				b.steps++
			}
			b.steps = max(b.steps, 1)
		}
		sum += b.steps
	}
	return sum
}

// enter makes block i the active window: its time and its steps begin anew.
func (c *canvas) enter(i int) {
	b := &c.blocks[i]
	c.at, c.lo, c.hi = i, b.lo, b.hi
	c.behind -= b.blanks
	c.begun, c.since = c.step, c.nfe
	c.nextT, c.goesOn = 0, false
}

// block is the active one.
func (c *canvas) block() *block { return &c.blocks[c.at] }

// turn ends the active block where nothing in it is masked and nobody revises it: the next one begins, or the row ends.
func (c *canvas) turn() {
	switch {
	case c.finish != "" || c.goesOn || c.masked > c.behind:
	case c.masked == 0 && c.grows != nil && c.grows.refused > 0:
		c.finish = FinishLength
	case c.masked == 0 && c.capped:
		c.finish = FinishSteps
	case c.masked == 0:
		c.finish = FinishComplete
	default:
		c.enter(c.at + 1)
	}
}

// time is t of the whole row, for models that read it: the fraction of the row's blanks that is masked on average at time t
// of its block. With one block it is t.
func (c *canvas) time(t float64) float64 {
	if len(c.blocks) == 1 {
		return t
	}
	return (float64(c.behind) + t*float64(c.block().blanks)) / float64(c.blanks)
}
