package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/view"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Written is a row as evaluators read it. Positions are those of the finished row [L], special tokens included.
type Written struct {
	Text    string   `json:"text"`               // without special tokens, prompt included
	Answer  string   `json:"answer,omitempty"`   // the text of the data, where there is data
	Pieces  []string `json:"pieces,omitempty"`   // tokens as the tokenizer spells them
	StepMap []int32  `json:"step_map,omitempty"` // step at which a position was opened last, -1 where it was given
	Born    []int32  `json:"born,omitempty"`     // step at which a position was inserted, -1 where it was given; of rows that grow
}

// Row is what became of one row at one point.
type Row struct {
	Index int64 `json:"index"`
	Written
	NFE     int                `json:"nfe"`
	Steps   int                `json:"steps"`
	Revised int                `json:"revised"` // positions masked again or overwritten
	Metrics map[string]float64 `json:"metrics"`
}

// Measured is a point with its rows. Its first part is the head of the file that it is kept in.
type Measured struct {
	Series      string  `json:"series"`
	Name        string  `json:"name"`
	Model       string  `json:"model"`
	Runtime     string  `json:"runtime"`
	Batch       int     `json:"batch"`
	Seed        uint64  `json:"seed"`
	Passes      int     `json:"passes"`       // forward passes of the batch
	ScorePasses int     `json:"score_passes"` // of the planner's own network
	Tokens      int     `json:"tokens"`       // positions opened
	OpenSeconds float64 `json:"open_seconds"` // model, runtime and plugins
	Seconds     float64 `json:"seconds"`      // of sampling
	Evaluator   string  `json:"evaluator,omitempty"`

	Digests map[string]string `json:"digests,omitempty"` // of the model and its parts, by what they are

	Rows []Row `json:"-"`
}

// measure samples all rows at a point.
func (t *task) measure(ctx context.Context, p Point, seed uint64, o *Options) (_ *Measured, err error) {
	cfg, err := p.Config.With(config.Assignment{Key: "seed", Value: fmt.Sprint(seed), Flag: "seed"}, config.Assignment{Key: "num", Value: "1", Flag: "rows"})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	h, err := host.Open(ctx, cfg, o.Host)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	requests, _, err := results.Requests(h.Model(), h.Config(), t.asked)
	if err != nil {
		return nil, err
	}
	m := &Measured{Series: p.Series, Name: p.Name, Model: h.Model().Name, Runtime: h.Provider(), Batch: h.Batch(len(requests)), Seed: seed,
		OpenSeconds: time.Since(began).Seconds(), Rows: make([]Row, len(requests))}
	if m.Digests, err = h.Digests(); err != nil {
		return nil, err
	}
	next, blanks := 0, 0
	for _, r := range requests {
		blanks += model.Row{Fixed: r.Fixed}.Blanks()
	}
	bar := view.NewProgress(o.Said, o.Terminal, len(requests), blanks)
	if h.Model().Insertion() {
		bar.Growing()
	}
	defer bar.Close() //nolint:errcheck // nothing to tell
	a, err := h.Sample(ctx, len(requests), func() (sampling.Request, bool) {
		if next == len(requests) {
			return sampling.Request{}, false
		}
		next++
		return requests[next-1], true
	}, func(r sampling.Result) error {
		if r.Err != nil {
			return fmt.Errorf("row %d: %w", r.Index, r.Err)
		}
		m.Rows[r.Index] = Row{Index: r.Index, Written: t.written(r), NFE: r.NFE, Steps: r.Steps, Revised: r.Revised, Metrics: t.metrics(r)}
		return nil
	}, bar)
	if err != nil {
		return nil, err
	}
	m.Passes, m.ScorePasses, m.Tokens, m.Seconds = a.Passes, a.ScorePasses, a.Tokens, a.Wall.Seconds()
	if t.answers == nil {
		unique(m.Rows)
	}
	return m, nil
}

// written is what evaluators read of a row.
func (t *task) written(r sampling.Result) Written {
	w := Written{Text: t.model.Tokenizer.Decode(r.Tokens, true), StepMap: r.StepMap, Born: r.Born, Pieces: make([]string, len(r.Tokens))}
	for i, id := range r.Tokens {
		w.Pieces[i] = t.model.Tokenizer.Token(id)
	}
	if t.answers != nil {
		w.Answer = t.model.Tokenizer.Decode(t.answers[r.Index].Tokens, true)
	}
	return w
}

// metrics compares a row with its answer, where there is one: exact is 1 where all of it is right, tokens the share of what
// was to be written that is. Of a free row it gives the entropy.
func (t *task) metrics(r sampling.Result) map[string]float64 {
	if t.answers == nil {
		var written []int32
		for i, token := range r.Tokens {
			if r.StepMap[i] >= 0 {
				written = append(written, token)
			}
		}
		return map[string]float64{"entropy": Entropy(written)}
	}
	right, of := t.right(r)
	if right == of { // nothing, where nothing was to be written
		return map[string]float64{"exact": 1, "tokens": 1}
	}
	return map[string]float64{"exact": 0, "tokens": float64(right) / float64(of)}
}

// Entropy is that of the frequencies of tokens within a row, in nats: low where a row repeats itself.
func Entropy(tokens []int32) (h float64) {
	count := map[int32]float64{}
	for _, t := range tokens {
		count[t]++
	}
	for _, n := range count {
		h += n / float64(len(tokens)) * math.Log(float64(len(tokens))/n)
	}
	return h
}

// unique marks the first row of each text with 1, others with 0.
func unique(rows []Row) {
	seen := map[string]bool{}
	for i := range rows {
		rows[i].Metrics["unique"] = 1
		if seen[rows[i].Text] {
			rows[i].Metrics["unique"] = 0
		}
		seen[rows[i].Text] = true
	}
}
