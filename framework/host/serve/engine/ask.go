package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

// Ask checks a question and lets its rows wait for their turn. It waits for the lane that they need to open, but not for other rows. The
// rows end when ctx does, after serve.timeout, or when the answer is closed, which the caller must do. Errors: [RequestError],
// [UnknownModelError], [ErrBusy], [ErrDraining], ctx's own, or why the lane could not be opened.
func (e *Engine) Ask(ctx context.Context, q Question) (*Answer, error) {
	for {
		g, err := e.generation()
		if err != nil {
			return nil, err
		}
		a, err := e.ask(ctx, g, q)
		if !errors.Is(err, errRetired) {
			return a, err
		}
	}
}

func (e *Engine) ask(ctx context.Context, g *generation, q Question) (*Answer, error) {
	s, requests, notes, err := g.requests(&q)
	if err != nil {
		return nil, err
	}
	if err := e.enter(len(requests), g.cfg.Serve.Queue); err != nil {
		return nil, err
	}
	a, err := e.place(ctx, g, s, requests, &q)
	if err != nil {
		e.leave(len(requests))
		return nil, refusal(err)
	}
	a.notes = notes
	return a, nil
}

// place makes an answer of rows that were let in and pushes it into its lane.
func (e *Engine) place(ctx context.Context, g *generation, s *settled, requests []sampling.Request, q *Question) (*Answer, error) {
	l, err := g.lane(ctx, s)
	if err != nil {
		return nil, err
	}
	defer l.release()
	if err := l.suits(requests); err != nil {
		return nil, &RequestError{Text: err.Error()}
	}
	seed := *q.Seed
	a := newAnswer(ctx, time.Duration(g.cfg.Serve.Timeout*float64(time.Second)), s.model, seed, requests, q.Steps, func() { e.leave(1) })
	if !l.push(a) {
		a.cancel(errRetired)
		return nil, errRetired // also where the lane had to make room for another one: once more
	}
	return a, nil
}

// requests makes rows of a question, as `mdmhost sample` does, and holds them against the limits of the server.
func (g *generation) requests(q *Question) (*settled, []sampling.Request, []string, error) {
	if q.Model == "" {
		q.Model = g.names[0]
	}
	s, ok := g.models[q.Model]
	if !ok {
		return nil, nil, nil, &UnknownModelError{Model: q.Model, Names: g.names}
	}
	serve := &g.cfg.Serve
	if most := min(serve.MaxRows, serve.Queue); q.Num < 1 || q.Num > most || q.Num*max(len(q.Ask), 1) > most {
		param := "n"
		if len(q.Ask) > most { // no n would do
			param, _, _ = strings.Cut(q.Ask[0].Place, "[")
		}
		return nil, nil, nil, &RequestError{Param: param, Text: fmt.Sprintf("%d rows of each of %d texts, expected 1 to %d rows in all (serve.max_rows, serve.queue); ask for fewer at once", q.Num, len(q.Ask), most)}
	}
	s, err := g.settle(s, q)
	if err != nil {
		return nil, nil, nil, err
	}
	if most := serve.MaxPositions; s.cfg.Steps > most {
		return nil, nil, nil, &RequestError{Param: "steps", Text: fmt.Sprintf("expected at most %d (serve.max_positions), found %d", most, s.cfg.Steps)}
	}
	if q.Seed == nil {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, nil, nil, fmt.Errorf("seed: %w", err)
		}
		drawn := binary.LittleEndian.Uint64(b[:]) >> 11 // 53 bits survive every JSON reader
		q.Seed = &drawn
	}
	requests, notes, err := results.Requests(s.model, s.cfg, q.Ask)
	if err != nil {
		return nil, nil, nil, refusal(err)
	}
	if note := s.unasked(q.Settings); note != "" {
		notes = append(notes, note)
	}
	return s, requests, notes, g.bound(s, requests)
}

// unasked says that a planner that the question speaks of has nothing to decide, "" where that is not known.
func (s *settled) unasked(given []config.Assignment) string {
	name := s.cfg.Sampler.Name
	if _, own := samplers.All()[name]; !own || samplers.AsksPlanner(name) {
		return ""
	}
	for _, a := range given {
		if strings.HasPrefix(a.Key, "planner") {
			return fmt.Sprintf("planner %s was not asked: sampler %s decides by itself", s.cfg.Planner.Name, name)
		}
	}
	return ""
}

// rememberable is the most bytes of settings whose result is kept: long lists are of one client, and would fill the memory.
const rememberable = 4 << 10

// settle is [settled.settle], whose results are kept since clients ask the same again and again.
func (g *generation) settle(s *settled, q *Question) (*settled, error) {
	known := fmt.Sprintf("%q %q", s.name, q.Settings)
	g.mu.Lock()
	found := g.known[known]
	g.mu.Unlock()
	if found == nil {
		var err error
		if found, err = s.settle(&g.cfg.Serve, q.Settings); err != nil {
			return nil, err
		}
		g.remember(known, found)
	}
	out := *found
	if q.Ask == nil { // the number of the model's own examples
		var err error
		out.cfg, err = found.cfg.With(config.Assignment{Key: "num", Value: strconv.Itoa(q.Num), Flag: "n"})
		return &out, err
	}
	cfg := *found.cfg
	cfg.Num, out.cfg = q.Num, &cfg
	return &out, nil
}

// remember keeps the result of a question's settings.
func (g *generation) remember(known string, s *settled) {
	if len(known) > rememberable {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= 256 {
		clear(g.known)
	}
	g.known[known] = s
}

// widest is the most bytes that a row may take of what is as wide as the vocabulary.
const widest = 64 << 20

// bound refuses rows that are longer than the server lets them be, and keeps those that grow from becoming so.
func (g *generation) bound(s *settled, requests []sampling.Request) error {
	most := g.cfg.Serve.MaxPositions
	draw := &s.cfg.Sampling
	wide := draw.Draw == "gumbel" || draw.CreditAlpha > 0
	for i := range requests {
		r := &requests[i]
		if n := max(len(r.Tokens), s.cfg.Sampling.PadTo); n > most {
			return &RequestError{Text: fmt.Sprintf("row %d has %d positions, expected at most %d (serve.max_positions); ask for a shorter one", i, n, most)}
		}
		if s.model.Insertion() {
			if r.Cap == 0 {
				r.Cap = s.model.MaxLength
			}
			if r.Cap == 0 || r.Cap > most {
				r.Cap = most
			}
		}
		if n := max(len(r.Tokens), r.Cap) * s.model.V * 8; wide && n > widest {
			return &RequestError{Text: fmt.Sprintf("row %d with sampling.draw gumbel or sampling.credit_alpha takes up to %d MiB, a number for each token of the vocabulary at each position, expected at most %d; ask for a shorter one, or without",
				i, n>>20, widest>>20)}
		}
	}
	return nil
}
