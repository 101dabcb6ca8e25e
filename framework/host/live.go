package host

import (
	"context"
	"errors"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Live is a run that rows join while it goes. Its functions are called by one goroutine at a time.
type Live struct {
	Next     func() (sampling.Request, bool) // see [sampling.LoopConfig]; asked again as long as the run has rows
	Wait     func(context.Context) error     // likewise: the run has no rows and none waits
	Sink     func(sampling.Result) error
	Account  func(sampling.Accounts)
	Observer sampling.Observer
}

// MostRows is how many rows share a forward pass of a live run.
func (h *Host) MostRows() int {
	n := h.Batch(math.MaxInt)
	if most := h.denoiser.Capabilities().MaxRows; most > 0 {
		n = min(n, most)
	}
	return n
}

// Padding tells whether rows of different lengths share forward passes.
func (h *Host) Padding() bool { return h.denoiser.Capabilities().Padding }

// Fitter returns what [Host.Fits] does, for other goroutines: it may be called whatever the host does, and after its end.
func (h *Host) Fitter() func([]sampling.Request) error {
	if h.network == nil {
		return func([]sampling.Request) error { return nil }
	}
	return h.network.Fits
}

// Replaced is how many processes of the planner and the sampler died and had others take their place.
func (h *Host) Replaced() (n int64) {
	for _, p := range []*supervise.Process{h.planner.process, h.sampler.process} {
		if p != nil {
			n += p.Replaced()
		}
	}
	return n
}

// Live samples the rows that come, until none is left and none comes. When ctx ends or a part fails, rows on their way are not handed
// over: who gave them may give them to another run, where they become the same.
func (h *Host) Live(ctx context.Context, run Live) error {
	c := h.loop(h.MostRows())
	c.Live, c.Next, c.Wait, c.Sink, c.Account, c.Observers = true, run.Next, run.Wait, run.Sink, run.Account, []sampling.Observer{run.Observer}
	loop, err := sampling.NewLoop(c)
	if err != nil {
		return err
	}
	if err = h.sampler.plugin.Sample(ctx, loop); err == nil {
		err = loop.Done()
	}
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}
