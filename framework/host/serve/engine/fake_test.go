package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// fleet makes machines that sample without a model, and fail when they are told to.
type fleet struct {
	batch   int
	padding bool
	pause   time.Duration // of a pass

	mu      sync.Mutex
	opening []bool // of the machines that are opened next, which fail
	lives   []int  // passes after which the next lives fail; others never do
	sick    func(sampling.Request) bool
	open    int
	passes  int
	mixed   func(batch []sampling.Request) // sees the rows of each pass
}

var errBroken = errors.New("machine: broke; it is a test")

func (f *fleet) make(context.Context, *settled) (machine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.opening) > 0 {
		fails := f.opening[0]
		if f.opening = f.opening[1:]; fails {
			return nil, errBroken
		}
	}
	f.open++
	return &fake{fleet: f}, nil
}

// life is how many passes the next run lives; -1 is for ever.
func (f *fleet) life() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lives) == 0 {
		return -1
	}
	n := f.lives[0]
	f.lives = f.lives[1:]
	return n
}

// fake is one machine.
type fake struct{ fleet *fleet }

func (f *fake) MostRows() int  { return f.fleet.batch }
func (f *fake) Padding() bool  { return f.fleet.padding }
func (*fake) Replaced() int64  { return 0 }
func (*fake) Provider() string { return "fake" }
func (*fake) Fitter() func([]sampling.Request) error {
	return func([]sampling.Request) error { return nil }
}
func (f *fake) Close() error {
	f.fleet.mu.Lock()
	defer f.fleet.mu.Unlock()
	f.fleet.open--
	return nil
}

// written is what a fake machine makes of a row.
func written(n *sampling.NoiseKey, length int) []int32 {
	return slices.Repeat([]int32{int32(n.Seed%50) + int32(n.Row%20)}, length)
}

// Live opens one position a step, or all with Steps 1.
func (f *fake) Live(ctx context.Context, run host.Live) error {
	life := f.fleet.life()
	slots := make([]*flight, f.fleet.batch)
	var accounts sampling.Accounts
	for {
		used := 0
		for i, s := range slots {
			if s != nil {
				used++
				continue
			}
			r, ok := run.Next()
			if !ok && used == 0 && !slices.ContainsFunc(slots[i:], func(s *flight) bool { return s != nil }) {
				if err := run.Wait(ctx); err != nil {
					return err
				}
				r, ok = run.Next()
			}
			if !ok {
				break
			}
			slots[i] = &flight{Request: r, tokens: slices.Clone(r.Tokens)}
			used++
			run.Observer.Admitted(sampling.Frame{Index: r.Index, Slot: i})
		}
		if used = 0; !slices.ContainsFunc(slots, func(s *flight) bool { return s != nil }) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if life == 0 {
			return errBroken
		}
		life--
		time.Sleep(f.fleet.pause)
		var batch []sampling.Request
		for i, s := range slots {
			if s == nil {
				continue
			}
			batch = append(batch, s.Request)
			accounts.RowPasses++
			if result, done := s.step(f.fleet, run.Observer, i); done {
				slots[i] = nil
				if err := run.Sink(result); err != nil {
					return err
				}
			}
		}
		accounts.Passes++
		run.Account(accounts)
		f.fleet.mu.Lock()
		f.fleet.passes++
		if f.fleet.mixed != nil {
			f.fleet.mixed(batch)
		}
		f.fleet.mu.Unlock()
	}
}

// flight is a row on its way.
type flight struct {
	sampling.Request
	tokens []int32
	taken  int
}

func (s *flight) step(f *fleet, o sampling.Observer, slot int) (sampling.Result, bool) {
	r := sampling.Result{Index: s.Index, Tokens: s.tokens, NFE: s.taken}
	if s.Context.Err() != nil {
		r.Finish = sampling.FinishCancelled
		return r, true
	}
	if f.sick != nil && f.sick(s.Request) {
		r.Finish, r.Err = sampling.FinishError, errBroken
		return r, true
	}
	all := written(s.Noise, len(s.tokens))
	steps := len(s.tokens)
	if s.Steps > 0 {
		steps = s.Steps
	}
	if s.taken++; s.taken >= steps {
		copy(s.tokens, all)
	} else {
		s.tokens[s.taken-1] = all[s.taken-1]
	}
	o.Stepped(sampling.Frame{Index: s.Index, Slot: slot, Step: s.taken - 1, Steps: steps, NFE: s.taken, Tokens: s.tokens, Flags: make([]sampling.Flags, len(s.tokens))})
	r.NFE, r.Opened, r.Finish = s.taken, len(s.tokens), sampling.FinishComplete
	return r, s.taken >= steps
}

// fakeConfig is the configuration of an engine of fake machines.
func fakeConfig(t interface {
	Helper()
	Fatal(...any)
}, settings ...string) *config.Config {
	t.Helper()
	given := []config.Assignment{{Key: "model", Value: "text", Flag: "--model"}}
	for pair := range slices.Chunk(settings, 2) {
		given = append(given, config.Assignment{Key: pair[0], Value: pair[1], Flag: "--set " + pair[0]})
	}
	cfg, err := config.Load(config.Sources{Flags: given})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// faked is an engine of fake machines that ends with the test.
func faked(t *testing.T, f *fleet, settings ...string) *Engine {
	t.Helper()
	e, err := open(t.Context(), fakeConfig(t, settings...), host.Options{}, f.make)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if f.open != 0 {
			t.Errorf("%d machines are open still", f.open)
		}
	})
	return e
}

// blank is a question for rows of so many blanks.
func blank(length, num int, seed uint64) Question {
	return Question{Ask: []results.Question{{Kind: results.Prompt, Place: "prompt"}}, Num: num, Seed: &seed,
		Settings: []config.Assignment{{Key: "length", Value: strconv.Itoa(length), Flag: "length"}}}
}

// fakeAssignment is a setting that a client gives.
func fakeAssignment(key, value string) config.Assignment {
	return config.Assignment{Key: key, Value: value, Flag: key}
}
