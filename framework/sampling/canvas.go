package sampling

import (
	"fmt"
	"math"
	"time"
)

// canvas is one row on its way: its tokens, which of them are masked or fixed, and what happened to it.
type canvas struct {
	request Request
	tokens  []int32 // [L]
	flags   []Flags // [L]
	lo, hi  int     // the active window: every free position lies in [lo, hi)
	blanks  int     // positions blank at the start
	masked  int     // positions masked now
	step    int     // steps done
	passAt  int     // steps done before the last pass
	steps   int
	nextT   float64
	goesOn  bool // with nothing masked
	nfe     int
	revised int
	stepMap []int32   // [L]
	logp    []float32 // [L]
	started time.Time
	finish  Finish // "" while the row is on its way
	err     error
	tried   error // why a trial's logits could not be used: the row ends with its step
}

// newCanvas checks a request against the vocabulary and sets the row up.
func newCanvas(r Request, maskID int32, v int, started time.Time) (*canvas, error) {
	l := len(r.Tokens)
	if l == 0 {
		return nil, fmt.Errorf("row %d: no tokens; give at least one position", r.Index)
	}
	if r.Fixed != nil && len(r.Fixed) != l {
		return nil, fmt.Errorf("row %d: %d fixed flags for %d tokens; give one per token", r.Index, len(r.Fixed), l)
	}
	c := &canvas{
		request: r, tokens: append([]int32(nil), r.Tokens...), flags: make([]Flags, l),
		stepMap: make([]int32, l), logp: make([]float32, l), lo: l, started: started,
	}
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
		c.lo, c.hi = min(c.lo, i), i+1
		if t == maskID {
			c.flags[i] = Masked | Eligible
			c.masked++
		}
	}
	c.lo = min(c.lo, c.hi)
	c.blanks = c.masked
	c.steps = r.Steps
	if c.steps <= 0 {
		c.steps = c.blanks
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
	return RowState{Slot: slot, Index: c.request.Index, Step: c.step, Steps: c.steps, Blanks: c.blanks, Masked: c.masked,
		Length: len(c.tokens), NextT: c.nextT, Done: c.finish != ""}
}

func (c *canvas) result(now time.Time) Result {
	return Result{Index: c.request.Index, Tokens: c.tokens, Finish: c.finish, NFE: c.nfe, Steps: c.step,
		Opened: c.blanks - c.masked, Revised: c.revised, Elapsed: now.Sub(c.started), StepMap: c.stepMap, Logp: c.logp, Err: c.err}
}
