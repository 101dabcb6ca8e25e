package sampling

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// Scorer is the planner's own network, which serves the need planner_score. It is used by one goroutine at a time.
type Scorer interface {
	// Score returns a log-score for every wanted position [B, L]: how much its token deserves to stand. The result is valid
	// until the next call, and undefined elsewhere. Cancelling ctx ends it with ctx's error.
	Score(ctx context.Context, c *Candidates) ([]float32, error)
}

// Candidates are the rows of a pass as a planner network reads them: z of P2 (eq. 7), which is x at written and fixed
// positions and the host's proposal at masked ones. Positions outside the window that are masked stay so.
type Candidates struct {
	B, L     int
	Tokens   []int32 // [B, L] ids of the denoiser; the pad id behind a row's end
	Lengths  []int   // [B] positions of each row
	Proposed []uint8 // [B, L] 1 = a proposal stands here, the row is masked
	Wanted   []uint8 // [B, L] 1 = somebody reads the score
}

// reset makes room for [b, l] zeros.
func (c *Candidates) reset(b, l int) {
	c.B, c.L, c.Lengths = b, l, c.Lengths[:0]
	c.Tokens = slices.Grow(c.Tokens[:0], b*l)[:b*l]
	for _, bits := range []*[]uint8{&c.Proposed, &c.Wanted} {
		*bits = slices.Grow((*bits)[:0], b*l)[:b*l]
		clear(*bits)
	}
}

// score runs the planner's network over the proposals of the last pass, at most once a pass. A row whose scores are NaN or +Inf
// ends as faulty.
func (l *Loop) score(ctx context.Context, needs *Needs) error {
	p := &l.pass
	if !needs.PlannerScore || l.Scorer == nil || p.scored {
		return nil
	}
	p.scored = true
	length := p.stats.L
	p.candidates.reset(len(p.live), length)
	for i, a := range p.live {
		l.propose(l.slots[a.Slot], i)
	}
	if !slices.Contains(p.candidates.Wanted, 1) { // every row ended with this pass
		return nil
	}
	start := time.Now()
	scores, err := l.Scorer.Score(ctx, &p.candidates)
	l.accounts.Score += time.Since(start)
	if err != nil {
		return err
	}
	l.accounts.ScorePasses++
	p.scores = append(p.scores[:0], scores...)
	for at, wanted := range p.candidates.Wanted {
		c := l.slots[p.live[at/length].Slot]
		switch s := scores[at]; {
		case wanted == 0:
			p.scores[at] = 0
		case s != s || math.IsInf(float64(s), 1):
			c.finish = FinishError
			c.err = fmt.Errorf("row %d, step %d, position %d: the score of the planner's network is %v, expected a log-probability; check its ONNX file",
				c.request.Index, c.step, at%length, s)
		}
	}
	return nil
}

// propose writes row i of the candidates.
func (l *Loop) propose(c *canvas, i int) {
	z, length := &l.pass.candidates, l.pass.stats.L
	row := z.Tokens[i*length : (i+1)*length]
	for j := copy(row, c.tokens); j < length; j++ {
		row[j] = l.PadID
	}
	z.Lengths = append(z.Lengths, len(c.tokens))
	if c.finish != "" { // its logits were faulty
		return
	}
	for j := c.lo; j < c.hi; j++ {
		if !l.wants(c.flags[j]) {
			continue
		}
		z.Wanted[i*length+j] = 1
		if c.flags[j]&Masked != 0 {
			row[j], z.Proposed[i*length+j] = l.pass.stats.Proposal[i*length+j], 1
		}
	}
}

// faulty returns the error of the first row of the step whose scores cannot be used.
func (l *Loop) faulty() error {
	for i := range l.pass.step.Rows {
		if c := l.slots[l.pass.step.Rows[i].Slot]; c.finish == FinishError {
			return c.err
		}
	}
	return nil
}
