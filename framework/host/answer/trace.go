package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/host/view"
	"github.com/mdmhost/mdmhost/framework/host/view/page"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// traceFile is the trace of a run in a file: JSON lines, or a page around them. It is written while the run goes on, so that a
// run that is killed leaves what there was.
type traceFile struct {
	*sampling.Trace
	file *os.File
	page bool
}

// openTrace opens --trace; nil, which may be used, when there is none.
func (j *job) openTrace() (*traceFile, error) {
	if j.cfg.Trace == "" {
		return nil, nil
	}
	f, err := os.Create(j.cfg.Trace)
	if err != nil {
		return nil, &results.Refused{File: j.cfg.Trace, Reason: fmt.Sprintf("cannot take the trace: %v; name another file", err)}
	}
	t := &traceFile{file: f, page: trace.IsPage(j.cfg.Trace)}
	if t.page {
		if err := page.Start(f); err != nil {
			return nil, errors.Join(fmt.Errorf("trace: %w", err), f.Close())
		}
	}
	t.Trace = sampling.NewTrace(f, traceHeader(j.host, j.rows, j.digests))
	t.Spell = spell(j.host.Model())
	if t.page {
		t.Limit = page.Limit
	}
	if j.cfg.Record {
		if err := j.host.Record(t.Call); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return t, nil
}

// recordable refuses to record where there is no trace that takes calls.
func recordable(cfg *config.Config) error {
	switch {
	case !cfg.Record:
	case cfg.Trace == "":
		return recordProblem(cfg, "there is no trace to record into; add --trace FILE.jsonl")
	case trace.IsPage(cfg.Trace):
		return recordProblem(cfg, "a page holds no calls of the planner; record into JSON lines, --trace FILE.jsonl")
	}
	return nil
}

func recordProblem(cfg *config.Config, text string) error {
	return config.Problems{{Origin: cfg.Origin("record"), Key: "record", Text: text}}
}

// traceHeader says what runs.
func traceHeader(h *host.Host, rows []sampling.Request, digests map[string]string) sampling.TraceHeader {
	m, cfg, observed := h.Model(), h.Config(), h.Observed()
	header := sampling.TraceHeader{
		Seed: h.Seed(), Model: m.Name, Sampler: cfg.Sampler.Name, Planner: cfg.Planner.Name, Options: h.PlannerOptions(),
		Provider: h.Provider(), Rows: len(rows), MaskID: &m.MaskID, LogpOn: observed.LogpProposal.String(), EntropyOn: observed.Entropy.String(), Digests: digests,
	}
	if len(cfg.Sampler.Options) > 0 {
		header.SamplerOptions = cfg.Sampler.Options
	}
	if cfg.Record {
		header.Sampling = cfg.SamplingSettings()
	}
	header.Grid = GridOf(m.Config.Raw)
	if header.Growth = growthOf(h.Growth(), rows); header.Growth != nil {
		header.Planner, header.Options = "", nil // the sampler decides where rows grow
	}
	return header
}

// growthOf says how rows of an insertion model grow, nil of others. Their cap is the model's, or the highest of the rows where it has none.
func growthOf(g *sampling.Growth, rows []sampling.Request) *sampling.Growth {
	if g == nil || g.Cap > 0 {
		return g
	}
	bounded := *g
	for _, r := range rows {
		bounded.Cap = max(bounded.Cap, r.Cap)
	}
	return &bounded
}

// GridOf is the rectangle that config.json lays the positions out in, nil where it has none.
func GridOf(raw map[string]any) *sampling.TraceGrid {
	text, err := json.Marshal(raw["grid"])
	if err != nil {
		return nil
	}
	var g sampling.TraceGrid
	if err := json.Unmarshal(text, &g); err != nil || g.Rows < 1 || g.Cols < 1 {
		return nil // somebody else's key of this name
	}
	return &g
}

// spell reads tokens as screens do; special ones by their names.
func spell(m *model.Model) sampling.Spell {
	piece := view.PieceOf(m.Tokenizer)
	return func(id int32) (string, bool) {
		if m.Tokenizer.Special(id) {
			return m.Tokenizer.Token(id), true
		}
		return piece(id), false
	}
}

func (t *traceFile) observers() []sampling.Observer {
	if t == nil {
		return nil
	}
	return []sampling.Observer{t}
}

// Close completes the file.
func (t *traceFile) Close() error {
	if t == nil {
		return nil
	}
	err := t.Flush()
	if err == nil && t.page {
		err = page.End(t.file)
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// note says what a page had no room for; "" when it has everything.
func (t *traceFile) note() string {
	if t == nil || t.LeftOut() == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows are left out of the page %s, which holds %d MiB of a trace; --trace FILE.jsonl takes all", t.LeftOut(), t.file.Name(), page.Limit>>20)
}
