package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// client is what one client does.
type client struct {
	rows, length int
	seed         uint64
	steps        bool
	leaves       int // after so many events; 0 stays
	planner      string
}

// Whatever fails, whoever leaves: every row that was let in ends exactly once, steps come in order and none twice, rows that are done are
// those of their seed, and nothing is left behind.
func TestEveryRowEndsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &fleet{batch: rapid.IntRange(1, 5).Draw(rt, "batch"), padding: rapid.Bool().Draw(rt, "padding")}
		e, err := open(context.Background(), fakeConfig(t, "serve.lanes", "2", "serve.batching", fmt.Sprint(rapid.Bool().Draw(rt, "batching"))), host.Options{}, f.make)
		if err != nil {
			rt.Fatal(err)
		}
		e.pause = time.Millisecond
		f.mu.Lock()
		f.opening = rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(rt, "openings")
		f.lives = rapid.SliceOfN(rapid.IntRange(0, 12), 0, 4).Draw(rt, "lives")
		f.mu.Unlock()
		clients := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) client {
			return client{rows: rapid.IntRange(1, 7).Draw(t, "rows"), length: rapid.IntRange(1, 6).Draw(t, "length"), seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"),
				steps: rapid.Bool().Draw(t, "steps"), leaves: rapid.IntRange(0, 6).Draw(t, "leaves"), planner: rapid.SampledFrom([]string{"confidence", "random", "margin"}).Draw(t, "planner")}
		}), 1, 6).Draw(rt, "clients")
		reload := rapid.Bool().Draw(rt, "reload")
		var group sync.WaitGroup
		faults := make(chan error, 100)
		for _, c := range clients {
			group.Go(func() {
				if err := c.live(e); err != nil {
					faults <- err
				}
			})
		}
		if reload {
			if err := e.Reload(context.Background(), fakeConfig(t)); err != nil && !strings.Contains(err.Error(), errBroken.Error()) {
				faults <- err
			}
		}
		group.Wait()
		if err := e.Drain(context.Background()); err != nil {
			rt.Error(err)
		}
		if err := e.Close(); err != nil {
			rt.Error(err)
		}
		close(faults)
		for err := range faults {
			rt.Error(err)
		}
		if len(e.lanes) != 0 || e.rows != 0 || e.running.Load() != 0 || f.open != 0 {
			rt.Errorf("left behind: %d lanes, %d rows, %d of them running, %d machines", len(e.lanes), e.rows, e.running.Load(), f.open)
		}
		for _, k := range e.Stats().Kinds {
			if k.Running != 0 || k.Lanes != 0 || k.Opened != k.Closed {
				rt.Errorf("counts at the end: %+v", k)
			}
		}
	})
}

// live asks, reads, and perhaps leaves early; its error says what the engine did wrong.
func (c client) live(e *Engine) error {
	q := blank(c.length, c.rows, c.seed)
	q.Steps = c.steps
	q.Settings = append(q.Settings, fakeAssignment("planner", c.planner))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	a, err := e.Ask(ctx, q)
	if errors.Is(err, errBroken) || errors.Is(err, ErrBusy) { // the lane did not open
		return nil
	}
	if err != nil {
		return err
	}
	defer a.Close()
	ends, next := make([]int, a.Rows()), make([]int, a.Rows())
	for events := 1; ; events++ {
		ev, err := a.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("after %d events: %w", events, err)
		}
		if events == c.leaves {
			a.Close()
		}
		switch {
		case ev.Step != nil && (ev.Step.Step < next[ev.Row] || !c.steps || ends[ev.Row] > 0):
			return fmt.Errorf("row %d: step %d came after step %d, or after its end", ev.Row, ev.Step.Step, next[ev.Row]-1)
		case ev.Step != nil:
			next[ev.Row] = ev.Step.Step + 1
		default:
			ends[ev.Row]++
			if ev.Done.Finish == sampling.FinishComplete && !slices.Equal(ev.Done.Tokens, written(&sampling.NoiseKey{Seed: c.seed, Row: int64(ev.Row)}, len(ev.Done.Tokens))) {
				return fmt.Errorf("row %d of seed %d: tokens %v", ev.Row, c.seed, ev.Done.Tokens)
			}
			if ev.Done.Finish != sampling.FinishComplete && ev.Done.Error == "" {
				return fmt.Errorf("row %d: finish %s without a reason", ev.Row, ev.Done.Finish)
			}
		}
	}
	for i, n := range ends {
		if n != 1 {
			return fmt.Errorf("row %d ended %d times", i, n)
		}
	}
	return nil
}
