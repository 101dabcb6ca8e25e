package parity

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Parting is the step in which two runs of one row begin to differ; up to there they had written the same. What differs further down
// follows from it.
type Parting struct {
	Row      int64     `json:"row"`
	Step     int       `json:"step"`              // from 0
	What     string    `json:"what"`              // "opened", "masked again", "dropped" or "inserted"; "ended" where one run did nothing any more
	Position int32     `json:"position"`          // the first that differs, of the row before the step; -1 without one
	Tokens   [2]int32  `json:"tokens"`            // written there by either, -1 for none
	Texts    [2]string `json:"texts"`             // of the tokens
	Margin   *float64  `json:"margin,omitempty"`  // how close the choice was; nil where that is not known or nothing can make it the other
	Why      string    `json:"why,omitempty"`     // why it is not known
	Follows  int       `json:"follows,omitempty"` // tokens of the finished row that differ
	near     bool      // the margin is below the limit
}

// parting returns where two runs of a row part, or nil.
func parting(a, b *trace.Row) *Parting {
	step, what := trace.FirstDifferent(a, b)
	differ := differences(a.End.Tokens, b.End.Tokens)
	if step == nil && differ == 0 {
		return nil
	}
	p := &Parting{Row: a.Index, What: what, Position: -1, Tokens: [2]int32{-1, -1}, Follows: differ}
	if p.What == "" {
		p.What = "ended"
	}
	if step == nil {
		p.Step, p.Why = len(a.Steps), "every step did the same, and the answers differ"
		return p
	}
	p.Step = *step
	x, y := stepOf(a, *step), stepOf(b, *step)
	for _, side := range [2][]int32{x.touched(), y.touched()} {
		for _, at := range side {
			if x.token(at) != y.token(at) && (p.Position < 0 || at < p.Position) {
				p.Position, p.Tokens = at, [2]int32{x.token(at), y.token(at)}
			}
		}
	}
	return p
}

// differences counts the positions that differ, those that one of the rows lacks included.
func differences(a, b []int32) int {
	n := max(len(a), len(b)) - min(len(a), len(b))
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// did is what a step did.
type did sampling.TraceEvent

// stepOf returns a step of a row; an empty one where the row has no such.
func stepOf(r *trace.Row, step int) did {
	if i := slices.IndexFunc(r.Steps, func(e sampling.TraceEvent) bool { return e.Step == step }); i >= 0 {
		return did(r.Steps[i])
	}
	return did{}
}

// touched lists the positions that the step wrote, masked or dropped.
func (d did) touched() []int32 {
	out := slices.Concat(d.Remasked, d.Deleted)
	for _, o := range d.Opened {
		out = append(out, o[0])
	}
	return out
}

// token is what the step wrote at a position: -1 nothing, -2 a mask, -3 it dropped it.
func (d did) token(at int32) int32 {
	switch {
	case slices.Contains(d.Deleted, at):
		return -3
	case slices.Contains(d.Remasked, at):
		return -2
	}
	for _, o := range d.Opened {
		if o[0] == at {
			return o[1]
		}
	}
	return -1
}

// explain finds out how close the choice was in which two runs parted, from what each runtime answered then.
func (p *Parting) explain(ctx context.Context, r *reference, a, b *trace.Row, as, bs []sight) error {
	if len(as) == 0 || len(bs) == 0 || !slices.Equal(as[0].tokens, bs[0].tokens) {
		p.Why = "the runs did not part in the same step again"
		return nil
	}
	x, y := stepOf(a, p.Step), stepOf(b, p.Step)
	tokens, same := -1.0, true // the worst margin of proposals that differ; whether both touched the same positions
	for i := range min(len(as), len(bs)) {
		if !slices.Equal(as[i].tokens, bs[i].tokens) {
			break // a later pass of the step, after another choice
		}
		margin, err := p.proposals(ctx, r, &as[i], &bs[i])
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			p.Why = err.Error()
			return nil
		}
		tokens = max(tokens, margin)
	}
	one, other := x.touched(), y.touched()
	slices.Sort(one)
	slices.Sort(other)
	same = slices.Equal(one, other)
	margin := tokens
	if !same || margin < 0 {
		margin = max(margin, choice(as, bs, without(one, other), without(other, one)))
	}
	if math.IsInf(margin, 0) || math.IsNaN(margin) {
		p.Why = "no small change makes one choice the other"
		return nil
	}
	p.Margin = &margin
	return nil
}

// proposals is the worst margin of the tokens that one runtime proposed otherwise than the other; -1 where they proposed the same.
func (p *Parting) proposals(ctx context.Context, r *reference, a, b *sight) (float64, error) {
	worst := -1.0
	var logits []float32
	v := 0
	for l := range a.proposal {
		if a.active[l] == 0 || b.active[l] == 0 || a.proposal[l] == b.proposal[l] {
			continue
		}
		if a.proposal[l] < 0 || b.proposal[l] < 0 {
			return math.Inf(1), nil // one of them found no sound logits
		}
		if logits == nil {
			var err error
			if logits, v, err = r.logits(ctx, a); err != nil {
				return 0, err
			}
		}
		at := position{logits: logits[l*v : (l+1)*v], head: r.head, params: a.params}
		if len(a.uniform) > 0 {
			at.uniform = a.uniform[l]
		}
		margin, err := at.margin(a.proposal[l], b.proposal[l])
		if err != nil {
			return 0, err
		}
		worst = max(worst, margin)
	}
	return worst, nil
}

// choice bounds how close a choice of positions was. A decision is a function of the statistics, so that it was no further from the other
// than the statistics of both runtimes are from each other. Where it can be a ranking of positions by one statistic, those of the positions
// that traded places count alone.
func choice(as, bs []sight, onlyA, onlyB []int32) float64 {
	all, here, ranked := 0.0, 0.0, false
	for i := range min(len(as), len(bs)) {
		a, b := &as[i], &bs[i]
		if !slices.Equal(a.tokens, b.tokens) {
			break
		}
		for k := range min(len(a.statistics), len(b.statistics)) {
			x, y := a.statistics[k], b.statistics[k]
			gaps := len(x) == len(a.tokens)+1
			for l := range min(len(x), len(y)) {
				if !gaps && !alike(a, b, l) {
					continue
				}
				d := distance(x[l], y[l])
				all = max(all, d)
				if at := int32(l); !gaps && (slices.Contains(onlyA, at) || slices.Contains(onlyB, at)) {
					here = max(here, d)
				}
			}
			ranked = ranked || !gaps && traded(a, b, x, y, onlyA, onlyB)
		}
	}
	if ranked {
		return here
	}
	return all
}

// alike tells whether both runtimes proposed the same at a position: the statistics of different proposals are different.
func alike(a, b *sight, l int) bool { return a.active[l] != 0 && a.proposal[l] == b.proposal[l] }

// traded tells whether the positions that one run took alone and those that the other took changed their order from x to y, the same
// statistic in both. A statistic that is the same at all of them changed nothing.
func traded(a, b *sight, x, y []float32, onlyA, onlyB []int32) bool {
	for _, p := range onlyA {
		for _, q := range onlyB {
			if int(max(p, q)) >= min(len(x), len(y)) {
				return false
			}
			if !alike(a, b, int(p)) || !alike(a, b, int(q)) {
				continue // the margin of the proposal counts
			}
			before, now := cmp.Compare(x[p], x[q]), cmp.Compare(y[p], y[q])
			if before == now || before*now > 0 {
				return false
			}
		}
	}
	return len(onlyA) > 0 && len(onlyB) > 0
}

// distance is |a - b|, relative to numbers beyond 1 as their rounding is; that of equal infinities, or of two that are no numbers, is 0.
func distance(a, b float32) float64 {
	if a == b || a != a && b != b {
		return 0
	}
	x, y := float64(a), float64(b)
	if d := math.Abs(x - y); !math.IsNaN(d) && !math.IsInf(d, 0) {
		return d / max(1, math.Abs(x), math.Abs(y))
	}
	return math.Inf(1)
}

func without(all, others []int32) (out []int32) {
	for _, x := range all {
		if !slices.Contains(others, x) {
			out = append(out, x)
		}
	}
	return out
}
