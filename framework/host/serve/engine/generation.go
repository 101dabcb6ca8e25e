package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/answer"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/model"
)

// generation is what one configuration serves: its models, and the lanes that were opened for questions.
type generation struct {
	engine *Engine
	cfg    *config.Config
	opened time.Time
	names  []string // of models, as requests call them
	models map[string]*settled
	infos  []ModelInfo

	mu      sync.Mutex
	lanes   map[string]*lane
	known   map[string]*settled // by the settings of questions
	retired bool                // no lane is opened any more
	changed chan struct{}       // closed, and replaced, when a lane has become idle or has ended
}

// generate opens the models of a configuration, the lane of each with its own settings, and shows by one row each that they work. On
// an error nothing stays open.
func (e *Engine) generate(ctx context.Context, cfg *config.Config) (_ *generation, err error) {
	g := &generation{engine: e, cfg: cfg, opened: time.Now(), models: map[string]*settled{}, lanes: map[string]*lane{}, known: map[string]*settled{}, changed: make(chan struct{})}
	defer func() {
		if err != nil {
			g.retire()
		}
	}()
	refs := cfg.Serve.Models
	if len(refs) == 0 {
		refs = []string{cfg.Model}
	}
	if len(refs) > cfg.Serve.Lanes {
		return nil, config.Problems{{Origin: cfg.Origin("serve.lanes"), Key: "serve.lanes", Text: fmt.Sprintf("expected at least one for each of the %d models of serve.models, found %d; raise it", len(refs), cfg.Serve.Lanes)}}
	}
	for _, ref := range refs {
		if err := g.add(ref); err != nil {
			return nil, err
		}
	}
	var failed []error // of all models
	for _, name := range g.names {
		if err := g.prove(ctx, g.models[name]); err != nil {
			failed = append(failed, fmt.Errorf("serving %s: %w", name, err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return g, nil
}

// add opens a model.
func (g *generation) add(ref string) error {
	cfg := g.cfg
	var err error
	if ref != cfg.Model {
		if cfg, err = cfg.With(config.Assignment{Key: "model", Value: ref, Flag: cfg.Origin("serve.models").String()}); err != nil {
			return err
		}
	}
	m, err := model.Open(ref)
	if err != nil {
		return err
	}
	s := &settled{name: m.Name, model: m}
	if m.Dir != "" { // where it lies is nobody's business
		s.name = filepath.Base(m.Dir)
	}
	if slices.Contains(g.names, s.name) {
		return config.Problems{{Origin: cfg.Origin("serve.models"), Key: "serve.models", Text: fmt.Sprintf("has two models that requests would call %s; rename a directory, or leave one out", s.name)}}
	}
	if s.cfg, err = host.WithModel(cfg, m); err != nil {
		return err
	}
	s.base = s.cfg
	if err := s.checkOptions(); err != nil {
		return err
	}
	if s.key, err = s.keyed(); err != nil {
		return err
	}
	g.names, g.models[s.name] = append(g.names, s.name), s
	return nil
}

// prove opens the lane of a model and runs one row through it, all of which opens in one step.
func (g *generation) prove(ctx context.Context, s *settled) error {
	n := 8
	if most := s.model.MaxLength; most > 0 && most < 2*n || s.model.Manifest.Length.Policy == "fixed" || s.model.FixedLength() > 0 {
		n = 0 // as long as rows are
	}
	row, err := s.model.EncodePrompt("", n)
	if err != nil {
		return err
	}
	l, err := g.lane(ctx, s)
	if err != nil {
		return err
	}
	defer l.release()
	info, err := s.info(l.provider)
	if err != nil {
		return err
	}
	g.infos = append(g.infos, info)
	return l.prove(ctx, row)
}

// info is what the model says of itself.
func (s *settled) info(provider string) (ModelInfo, error) {
	digest, err := s.model.Digest()
	if err != nil {
		return ModelInfo{}, err
	}
	return ModelInfo{Name: s.name, Insertion: s.model.Insertion(), Planner: answer.DescribedPlanner(s.cfg.Planner), Sampler: answer.Described(s.cfg.Sampler),
		Provider: provider, V: s.model.V, MaxLength: s.model.MaxLength, MaskText: s.model.MaskText(), Blank: s.model.Manifest.Infill.Blank, Grid: answer.GridOf(s.model.Config.Raw), Examples: examples(s.model.Examples), Digest: digest, Opened: time.Now()}, nil
}

// examples are the texts of a model's prompts.jsonl.
func examples(lines []byte) (out []string) {
	questions, err := results.ReadQuestions("prompts.jsonl", bytes.NewReader(lines))
	if err != nil {
		return nil // `mdmhost sample` tells; they are for show here
	}
	for _, q := range questions {
		if q.Text != "" {
			out = append(out, q.Text)
		}
	}
	return out
}

// lane returns the lane for settings, opened if there is none yet, which may take seconds. Where there are as many as may be, the one that
// was idle longest makes room, and where none is idle the error, after a while, is [ErrBusy]. The lane is held: the caller releases it
// when its rows are pushed.
func (g *generation) lane(ctx context.Context, s *settled) (*lane, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, patient, ErrBusy)
	defer cancel()
	for {
		l, changed, err := g.find(ctx, s)
		if err != nil {
			return nil, err
		}
		if l == nil {
			select {
			case <-changed:
				continue
			case <-waiting.Done():
				return nil, context.Cause(waiting)
			}
		}
		select {
		case <-l.ready:
			err = l.failed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			l.release()
			return nil, err
		}
		return l, nil
	}
}

// patient is how long a question waits for room for a lane of its own.
const patient = 10 * time.Second

// errRetired is the error of a question whose generation has ended meanwhile.
var errRetired = errors.New("the configuration was replaced")

// find returns the lane for settings, begun if it was not there, or, where there is no room, what tells of changes.
func (g *generation) find(ctx context.Context, s *settled) (*lane, <-chan struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.lanes[s.key]; l != nil && l.hold() {
		return l, nil, nil
	}
	if g.retired {
		return nil, nil, errRetired
	}
	if len(g.lanes) >= g.cfg.Serve.Lanes && !g.evict() {
		return nil, g.changed, nil
	}
	l, err := g.engine.newLane(ctx, s, g.cfg.Serve.Batching, g.notify)
	if err != nil {
		return nil, nil, err
	}
	l.ended = func() { g.remove(l) }
	l.hold()
	g.lanes[s.key] = l
	l.start()
	return l, nil, nil
}

// remove lets go of a lane that has ended.
func (g *generation) remove(l *lane) {
	g.mu.Lock()
	if g.lanes[l.key] == l {
		delete(g.lanes, l.key)
	}
	g.mu.Unlock()
	g.engine.forget(l)
	g.notify()
}

// evict closes the lane that was idle longest, and tells whether there was one. g.mu is held.
func (g *generation) evict() bool {
	var oldest *lane
	var since time.Time
	for _, l := range g.lanes {
		if at := l.idleSince(); !at.IsZero() && (oldest == nil || at.Before(since)) {
			oldest, since = l, at
		}
	}
	if oldest == nil || !oldest.closeIdle() {
		return false
	}
	delete(g.lanes, oldest.key)
	return true
}

// notify tells those who wait for room.
func (g *generation) notify() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
}

// retire lets every lane end with its last row.
func (g *generation) retire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
	for _, l := range g.lanes {
		l.close()
	}
}
