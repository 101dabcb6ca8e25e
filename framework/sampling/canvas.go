package sampling

import (
	"fmt"
	"math"
	"time"
)

// canvas is one row on its way: its tokens, which of them are masked or fixed, and what happened to it.
type canvas struct {
	request Request
	stream  rowStream
	tokens  []int32 // [L]
	flags   []Flags // [L]
	blocks  []block
	at      int         // the active block
	lo, hi  int         // its window
	first   int         // the row's first free position, or its length: what is generated begins here
	reach   int         // positions up to here have statistics in the last pass
	begun   int         // steps done before the active block
	since   int         // forward passes before it
	blanks  int         // positions blank at the start
	masked  int         // positions masked now
	behind  int         // those of later blocks
	step    int         // steps done
	passAt  int         // steps done before the last pass
	steps   int         // of all blocks
	still   bool        // the last step changed nothing
	kept    *Statistics // [1, L] of its last pass, which a pass would give again; else nil
	planned bool        // its step of this pass is done
	nextT   float64
	goesOn  bool // with nothing masked
	capped  bool // a block ran out of steps
	nfe     int
	partial int
	revised int
	cut     cut
	grows   *growing  // nil where the row keeps its length
	stepMap []int32   // [L]
	logp    []float32 // [L]
	started time.Time
	finish  Finish // "" while the row is on its way
	err     error
	tried   error // why a trial's logits could not be used: the row ends with its step
}

// newCanvas checks a request against the vocabulary and sets the row up.
func newCanvas(r Request, maskID int32, v int, blocks Blocks, growth *Growth, started time.Time) (*canvas, error) {
	l := len(r.Tokens)
	if l == 0 && growth == nil {
		return nil, fmt.Errorf("row %d: no tokens; give at least one position", r.Index)
	}
	if r.Fixed != nil && len(r.Fixed) != l {
		return nil, fmt.Errorf("row %d: %d fixed flags for %d tokens; give one per token", r.Index, len(r.Fixed), l)
	}
	c := &canvas{
		request: r, tokens: append([]int32(nil), r.Tokens...), flags: make([]Flags, l),
		stepMap: make([]int32, l), logp: make([]float32, l), started: started,
	}
	lo, hi := l, 0 // every free position lies in [lo, hi)
	for i, t := range c.tokens {
		if t < 0 || int(t) >= v {
			return nil, fmt.Errorf("row %d, position %d: token %d is outside the vocabulary of %d; check the tokenizer that made it", r.Index, i, t, v)
		}
		c.stepMap[i] = -1
		fixed := t != maskID
		if r.Fixed != nil {
			fixed = r.Fixed[i]
		}
		if fixed {
			c.flags[i] = Fixed
			continue
		}
		lo, hi = min(lo, i), i+1
		if t == maskID {
			c.flags[i] = Masked | Eligible
			c.masked++
		}
	}
	c.first, c.cut.written = lo, lo
	c.blanks, c.behind = c.masked, c.masked
	c.blocks = blocks.cut(c.flags, min(lo, hi), hi)
	c.steps = share(c.blocks, r.Steps)
	c.enter(0)
	if growth != nil {
		return c, c.grow(growth)
	}
	if c.masked == 0 {
		c.finish = FinishComplete
	}
	return c, nil
}

func (c *canvas) write(i int, token int32, logp float32) {
	if c.flags[i]&Masked != 0 {
		c.masked--
	} else {
		c.revised++
	}
	c.tokens[i], c.flags[i] = token, 0
	c.stepMap[i], c.logp[i] = int32(c.step), logp
}

func (c *canvas) remask(i int, maskID int32) {
	c.tokens[i], c.flags[i] = maskID, Masked|Eligible
	c.stepMap[i], c.logp[i] = -1, float32(math.NaN())
	c.masked++
	c.revised++
}

func (c *canvas) state(slot int) RowState {
	return RowState{Slot: slot, Index: c.request.Index, Step: c.step - c.begun, Steps: c.block().steps, Blanks: c.block().blanks, Masked: c.masked - c.behind,
		Length: len(c.tokens), Room: c.room(), NextT: c.nextT, Done: c.finish != ""}
}

func (c *canvas) result(now time.Time) Result {
	r := Result{Index: c.request.Index, Tokens: c.tokens, Finish: c.finish, NFE: c.nfe, Partial: c.partial, Until: c.nfe, Steps: c.step,
		Opened: c.blanks - c.masked, Revised: c.revised, Elapsed: now.Sub(c.started), StepMap: c.stepMap, Logp: c.logp, Err: c.err}
	if g := c.grows; g != nil {
		r.Opened, r.Born, r.Capped = written(c.stepMap), g.born, g.refused
	}
	c.cut.apply(&r)
	return r
}
