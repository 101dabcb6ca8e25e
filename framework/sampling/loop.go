package sampling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// LoopConfig is what a run is made of.
type LoopConfig struct {
	Denoiser     Denoiser // configured
	Scorer       Scorer   // the planner's own network, or nil
	Planner      Planner  // started; nil where the sampler decides by itself
	PlannerName  string   // for messages
	SamplerName  string   // for messages
	CanRemask    bool     // as the planner described itself
	PlannerNeeds Needs
	SamplerNeeds Needs
	Seed         uint64
	MaskID       int32
	PadID        int32
	V            int     // writable ids lie below V
	Suppress     []int32 // ids that nobody may write; the mask id is among them in any case
	Draw         Draw
	Guidance     Guidance
	Rows         int // size of the batch
	Blocks       Blocks
	Stop         Stop
	HoldBack     []int32 // ids that may be drawn but open last: where one is proposed the statistics show no confidence
	MaxNFE       int     // most passes of a row, the last of which opens the rest; 0 = no bound
	PadTo        int     // the model sees rows of at least this length: what is missing at the end is masked and never opened
	Memory       bool    // the head keeps something of every pass (CreditDecoding), so that no pass may be saved
	Growth       *Growth // of insertion models, else nil: rows grow while they are sampled
	FromZero     bool    // the model counts times from 0, where nothing is written, to 1: it reads 1 - T
	RunID        string
	// Next returns the waiting rows one by one.
	Next func() (Request, bool)
	// Live tells that a Next without a row may have one later, so that it is asked again as long as the run has rows. The run
	// ends when it has none and none waits.
	Live bool
	// Wait, of a live run, is asked when the run has no rows and none waits. It returns when one may be there; where there is
	// none then, the run ends. ctx ends with the sampler that waits. nil does not wait.
	Wait func(ctx context.Context) error
	// Account is told where the time went, after each forward pass; nil is not.
	Account func(Accounts)
	// Sink takes finished rows, in the order in which they finish.
	Sink      func(Result) error
	Observers []Observer
}

// Loop is the host's side of a run: it keeps the batch of rows, feeds the denoiser, asks the planner, checks and applies
// decisions, and replaces rows that are finished. It implements [Session]; a sampler drives it.
type Loop struct {
	LoopConfig
	stream Stream
	rules  rules
	caps   Capabilities

	mu       sync.Mutex
	slots    []*canvas
	used     int
	waiting  *Request // the next row, when it does not fit beside the present ones
	ended    bool
	pass     pass
	trials   trials
	accounts Accounts
	began    time.Time
}

// NewLoop checks the configuration and returns a loop whose first Admit takes the first rows.
func NewLoop(c LoopConfig) (*Loop, error) {
	caps := c.Denoiser.Capabilities()
	if c.Rows < 1 {
		return nil, fmt.Errorf("batch: %d rows asked for; give at least 1", c.Rows)
	}
	if caps.MaxRows > 0 {
		c.Rows = min(c.Rows, caps.MaxRows)
	}
	if c.Growth != nil {
		if err := c.settleGrowth(&caps); err != nil {
			return nil, err
		}
	}
	l := &Loop{LoopConfig: c, stream: Stream{c.Seed}, caps: caps, slots: make([]*canvas, c.Rows), began: time.Now()}
	l.rules = rules{maskID: c.MaskID, v: c.V, canRemask: c.CanRemask, grows: c.Growth != nil, forbidden: map[int32]bool{c.MaskID: true}}
	for _, id := range c.Suppress {
		l.rules.forbidden[id] = true
	}
	return l, nil
}

// Accounts returns where the time went so far.
func (l *Loop) Accounts() Accounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts
	a.Wall = time.Since(l.began)
	return a
}

// Admit implements [Session].
func (l *Loop) Admit(ctx context.Context) ([]RowState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Live && l.Wait != nil && l.used == 0 && !l.waits() {
		if err := l.idle(ctx); err != nil {
			return nil, err
		}
	}
	var out []RowState
	for slot, c := range l.slots {
		if c != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := l.take()
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		l.slots[slot] = c
		l.used++
		out = append(out, c.state(slot))
		for _, o := range l.Observers {
			o.Admitted(c.frame(slot, nil))
		}
	}
	return out, nil
}

// idle waits for rows to come.
func (l *Loop) idle(ctx context.Context) error {
	l.mu.Unlock() // for Accounts
	defer l.mu.Lock()
	return l.Wait(ctx)
}

// waits tells whether a row waits, which it then holds.
func (l *Loop) waits() bool {
	if l.waiting == nil && !l.ended {
		if r, ok := l.Next(); ok {
			l.waiting = &r
		} else {
			l.ended = !l.Live
		}
	}
	return l.waiting != nil
}

// take returns the next row, or nil when none waits or none fits beside the rows in use.
func (l *Loop) take() (*canvas, error) {
	if !l.waits() {
		return nil, nil
	}
	if !l.caps.Padding && l.used > 0 { // without an attention mask only rows of one length share a batch
		i := slices.IndexFunc(l.slots, func(c *canvas) bool { return c != nil })
		if l.width(len(l.slots[i].tokens)) != l.width(len(l.waiting.Tokens)) {
			return nil, nil
		}
	}
	c, err := newCanvas(*l.waiting, l.MaskID, max(l.caps.V, l.V), l.Blocks, l.Growth, time.Now())
	if err == nil {
		c.stream = l.stream.streamOf(l.waiting)
	}
	l.waiting = nil
	return c, err
}

// Emit implements [Session].
func (l *Loop) Emit(_ context.Context, slots []int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range slots {
		if s < 0 || s >= len(l.slots) || l.slots[s] == nil {
			return l.misuse(fmt.Sprintf("emits slot %d, which is not in use", s), slotsHint)
		}
		if err := l.emit(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) emit(slot int) error {
	c := l.slots[slot]
	l.slots[slot] = nil
	l.pass.open = false // its rows are not all there any more
	l.used--
	if c.finish == "" {
		c.finish = FinishStop
		if c.masked == 0 {
			c.finish = FinishComplete
		}
	}
	r := c.result(time.Now())
	if c.finish != FinishError && c.finish != FinishCancelled {
		l.accounts.Rows++
	}
	l.accounts.Tokens += r.Opened
	l.accounts.Until += r.Until
	for _, o := range l.Observers {
		o.Finished(r)
	}
	return l.Sink(r)
}

// Abort hands over every row on its way: as cancelled when cause is a context's end, else with the error.
func (l *Loop) Abort(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for slot, c := range l.slots {
		if c == nil {
			continue
		}
		if c.finish == "" {
			c.finish, c.err = FinishError, cause
			if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
				c.finish, c.err = FinishCancelled, nil
			}
		}
		if err := l.emit(slot); err != nil {
			return err
		}
	}
	return nil
}

// Advance implements [Session].
func (l *Loop) Advance(ctx context.Context, rows []Advance) ([]RowState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkTimes(rows); err != nil {
		return nil, err
	}
	if err := l.planned(); err != nil {
		return nil, err
	}
	if anyTrial(rows) {
		return nil, l.misuse("advances with a trial, which changes nothing", "try tokens with Denoise")
	}
	for more := true; more; {
		if err := l.denoise(ctx, rows, &l.PlannerNeeds); err != nil {
			return nil, err
		}
		for again := len(l.pass.step.Rows) > 0; again; {
			if err := l.plan(ctx); err != nil {
				return nil, err
			}
			if err := l.apply("planner "+l.PlannerName, l.pass.decisions); err != nil {
				return nil, err
			}
			if again = l.again(); again && ctx.Err() != nil { // the pass that would notice may be far
				return nil, ctx.Err()
			}
		}
		rows, more = l.ahead()
	}
	return l.states(l.pass.asked), nil
}

// Denoise implements [Session].
func (l *Loop) Denoise(ctx context.Context, rows []Advance) (*Step, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkTimes(rows); err != nil {
		return nil, err
	}
	if anyTrial(rows) {
		return l.try(ctx, rows)
	}
	l.pass.open = false
	l.keep()
	if err := l.denoise(ctx, rows, &l.SamplerNeeds); err != nil {
		return nil, err
	}
	l.pass.open = true
	return &l.pass.step, nil
}

// Plan implements [Session].
func (l *Loop) Plan(ctx context.Context) ([]Decision, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.planned(); err != nil {
		return nil, err
	}
	if !l.pass.open {
		return nil, l.misuse("plans without a pass", passHint)
	}
	if len(l.pass.step.Rows) > 0 {
		if err := l.score(ctx, &l.PlannerNeeds); err != nil {
			return nil, err
		}
		if err := l.faulty(); err != nil { // the sampler has seen the row and counts on a decision for it
			return nil, err
		}
		l.holdBack()
		l.lay(&l.PlannerNeeds)
	}
	if err := l.plan(ctx); err != nil {
		return nil, err
	}
	return l.pass.decisions, nil
}

// Apply implements [Session].
func (l *Loop) Apply(_ context.Context, decisions []Decision) ([]RowState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pass.open {
		return nil, l.misuse("applies decisions without a pass", passHint)
	}
	if len(decisions) != len(l.pass.step.Rows) {
		return nil, l.misuse(fmt.Sprintf("applies %d decisions to %d rows", len(decisions), len(l.pass.step.Rows)), "give one per row of the last Denoise")
	}
	if err := l.apply(l.who(), decisions); err != nil {
		return nil, err
	}
	l.pass.open = false
	return l.states(l.pass.asked), nil
}

func (l *Loop) states(rows []Advance) []RowState {
	out := l.pass.states[:0]
	for _, r := range rows {
		out = append(out, l.slots[r.Slot].state(r.Slot))
	}
	l.pass.states = out
	return out
}

func (l *Loop) plan(ctx context.Context) error {
	p := &l.pass
	p.decisions = p.decisions[:cap(p.decisions)]
	for len(p.decisions) < len(p.step.Rows) {
		p.decisions = append(p.decisions, Decision{})
	}
	p.decisions = p.decisions[:len(p.step.Rows)]
	for i := range p.decisions {
		p.decisions[i].Reset()
	}
	start := time.Now()
	err := l.Planner.Plan(ctx, &p.step, p.decisions)
	l.accounts.Plan += time.Since(start)
	l.accounts.PlanCalls++
	return err
}
