package plugintest

import (
	"context"
	"errors"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// steadyNeeds are those of the planner that samplers ask.
var steadyNeeds = sampling.Needs{Proposal: true, Uniform: true}

// steady is a planner for samplers that ask one: it opens masks evenly over the steps, by their noise.
type steady struct{ sampling.Planner }

func (steady) Plan(_ context.Context, step *sampling.Step, out []sampling.Decision) error {
	for i := range step.Rows {
		r := &step.Rows[i]
		var eligible []int32
		for j, f := range r.Flags {
			if f&sampling.Eligible != 0 {
				eligible = append(eligible, int32(j))
			}
		}
		slices.SortFunc(eligible, func(a, b int32) int {
			if r.Uniform[a] < r.Uniform[b] {
				return -1
			}
			return 1
		})
		left := max(r.Steps-r.Step, 1)
		out[i].Open = append(out[i].Open, eligible[:(len(eligible)+left-1)/left]...)
	}
	return nil
}

// errEndless ends a sampler that asks the session without end.
var errEndless = errors.New("the sampler asks without end")

// counted is a session that counts and keeps requests, and can fail or be cancelled at one.
type counted struct {
	sampling.Session
	asked requests
	calls int
	at    int    // the request that then is called before
	then  func() // nil: nothing
	fail  error  // of every request from at on
	most  int
}

func (c *counted) enter() error {
	if c.calls++; c.calls == c.at && c.then != nil {
		c.then()
	}
	switch {
	case c.fail != nil && c.calls >= c.at && c.calls < c.at+c.most:
		return c.fail
	case c.calls >= c.most && c.at == 0, c.fail != nil && c.calls >= c.at+c.most:
		return errEndless
	}
	return nil
}

func (c *counted) Admit(ctx context.Context) ([]sampling.RowState, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	rows, err := c.Session.Admit(ctx)
	c.asked.admitted(rows)
	return rows, err
}

func (c *counted) Advance(ctx context.Context, rows []sampling.Advance) ([]sampling.RowState, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	c.asked.steps("Advance", rows)
	return c.Session.Advance(ctx, rows)
}

func (c *counted) Denoise(ctx context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	c.asked.steps("Denoise", rows)
	step, err := c.Session.Denoise(ctx, rows)
	if err == nil {
		c.asked.denoised(rows, step)
	}
	return step, err
}

func (c *counted) Plan(ctx context.Context) ([]sampling.Decision, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	return c.Session.Plan(ctx)
}

func (c *counted) Apply(ctx context.Context, decisions []sampling.Decision) ([]sampling.RowState, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	c.asked.decides(decisions)
	return c.Session.Apply(ctx, decisions)
}

func (c *counted) Emit(ctx context.Context, slots []int) error {
	if err := c.enter(); err != nil {
		return err
	}
	return c.Session.Emit(ctx, slots)
}
