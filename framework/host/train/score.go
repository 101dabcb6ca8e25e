package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// Score is the bound of one text, of what is free in it.
type Score struct {
	Index            int               `json:"index"`
	Text             string            `json:"text"` // without special tokens
	Kind             string            `json:"kind"` // bound, path_bound or estimate
	Nats             evaluate.Measure  `json:"nats"`
	BitsPerToken     evaluate.Measure  `json:"bits_per_token"`
	BitsPerCharacter *evaluate.Measure `json:"bits_per_character,omitempty"`
	Tokens           int               `json:"tokens"` // free ones
	Characters       int               `json:"characters"`
	LogLikelihood    *float64          `json:"log_likelihood,omitempty"` // nats; with Exact
	Draws            int               `json:"draws"`                    // 0: exact
	Parts            []evaluate.Part   `json:"parts,omitempty"`          // of the bound of a planned sampler
	Seed             uint64            `json:"seed"`

	Digests map[string]string `json:"digests,omitempty"` // of the model and of the plugins that took part, by what they are
}

// ScoreOptions say how texts are scored.
type ScoreOptions struct {
	Draws int  // of noise, at least 1, over which each score is the mean
	Exact bool // enumerate instead
}

// Ran says what scored.
type Ran struct {
	Model, Bound, Runtime string // Bound names the trainer or the bound of a planned sampler
	Seed                  uint64
	Notes                 []string
}

// Scores gives each text's bound to sink, in order. Every text gets the same noise, and none is padded for another's sake: a
// score is a function of the seed and of the text alone, and differences of texts that are alike have less error than the scores.
// The error of texts that the model cannot take is a [results.InputError] that lists all of them.
func Scores(ctx context.Context, cfg *config.Config, o host.Options, s ScoreOptions, texts []Text, sink func(Score) error, out Streams) (_ *Ran, err error) {
	g, err := openGauge(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	k := &scoring{gauge: g, ScoreOptions: s, done: make([]*Score, len(texts)), sink: sink, bar: newMeter(out)}
	defer k.bar.close()
	if k.digested, err = g.digests(); err != nil {
		return nil, err
	}
	if err := k.encode(texts); err != nil {
		return nil, err
	}
	if s.Exact {
		err = k.enumerate(ctx)
	} else {
		err = k.estimate(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &Ran{Model: g.model.Name, Bound: "trainer " + g.trainer.String(), Runtime: g.runtime(), Seed: g.seed, Notes: append(g.notes, g.device.Notes()...)}, nil
}

// scoring is a list of texts on its way.
type scoring struct {
	*gauge
	ScoreOptions
	rows     []line
	done     []*Score
	next     int // of the texts, not given to sink yet
	sink     func(Score) error
	bar      *meter
	digested map[string]string
}

// encode makes rows of the texts.
func (k *scoring) encode(texts []Text) error {
	var problems []string
	for i := range texts {
		row, err := k.row(&texts[i])
		if err == nil && k.Exact && len(targets(row.fixed)) > mostExact {
			err = fmt.Errorf("has %d free tokens, and --exact enumerates at most %d; leave it out", len(targets(row.fixed)), mostExact)
		}
		if err != nil {
			problems = append(problems, texts[i].Place+": "+err.Error())
		}
		k.rows = append(k.rows, row)
	}
	if problems != nil {
		return &results.InputError{Name: "input", Problems: problems}
	}
	if k.Exact {
		if err := masked(k.model, "--exact"); err != nil {
			return err
		}
	}
	if k.Exact && k.model.Timesteps {
		return fmt.Errorf("model %s: takes the time, and enumeration is for models without; leave --exact out", k.model.Name)
	}
	return nil
}

// estimate runs the evaluation graph, once for each text. Texts of about the same length share a graph.
func (k *scoring) estimate(ctx context.Context) error {
	order := make([]int, len(k.rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(k.positions(a), k.positions(b)) })
	done := 0
	for len(order) > 0 {
		length := k.positions(order[0])
		n := 1
		for n < len(order) && k.positions(order[n]) == length {
			n++
		}
		e, err := k.evaluator(ctx, k.passRows(length, k.Draws), length)
		if err != nil {
			return err
		}
		for _, i := range order[:n] {
			k.bar.at("scoring", int64(done), int64(len(k.rows)))
			from := &repeated{k.rows[i], length, int64(k.model.PadID)}
			one, err := e.Evaluate(ctx, from, training.Draw{Rows: k.Draws, Seed: k.seed})
			if err == nil {
				err = k.put(i, Score{Kind: k.kind(), Nats: evaluate.MeanOfDraws(one.PerRow), Draws: k.Draws})
			}
			if err != nil {
				return errors.Join(err, e.Close())
			}
			done++
		}
		if err := e.Close(); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// positions is the length that a text is padded to: of a few ones, so that few graphs are made.
func (k *scoring) positions(i int) int {
	n, m := len(k.rows[i].tokens), k.model
	if m.FixedLength() > 0 {
		return m.FixedLength()
	}
	if !m.AttentionMask {
		return n
	}
	length := 16
	for length < n {
		length *= 2
	}
	if m.MaxLength > 0 {
		length = min(length, m.MaxLength)
	}
	return length
}

// enumerate scores exactly.
func (k *scoring) enumerate(ctx context.Context) (err error) {
	o, err := k.openOracle(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	for i, row := range k.rows {
		k.bar.at("scoring", int64(i), int64(len(k.rows)))
		e, err := o.enumerate(ctx, row)
		if err != nil {
			return err
		}
		likelihood := e.LogLikelihood()
		if err := k.put(i, Score{Kind: k.kind(), Nats: evaluate.Measure{Value: e.Bound()}, LogLikelihood: &likelihood}); err != nil {
			return err
		}
	}
	return nil
}

// put completes a score and gives away those that are complete from the first on.
func (k *scoring) put(i int, s Score) error {
	row, nats := k.rows[i], s.Nats
	s.Index, s.Text, s.Tokens, s.Seed = i, k.model.Tokenizer.Decode(row.tokens, true), len(targets(row.fixed)), k.seed
	s.Characters = characters(k.model, row.tokens, row.fixed)
	if s.BitsPerToken = nats.Bits().Times(1 / float64(s.Tokens)); s.Tokens == 0 { // an empty row of an insertion model
		s.BitsPerToken = evaluate.Measure{Value: math.NaN(), Error: math.NaN()}
	}
	if s.Characters > 0 {
		m := nats.Bits().Times(1 / float64(s.Characters))
		s.BitsPerCharacter = &m
	}
	s.Digests = k.digested
	k.done[i] = &s
	for k.next < len(k.done) && k.done[k.next] != nil {
		if err := k.sink(*k.done[k.next]); err != nil {
			return err
		}
		k.next++
	}
	return nil
}

// repeated is one row again and again: the draws of noise for a text are the rows of a batch.
type repeated struct {
	line
	length int
	pad    int64
}

// Fill implements [training.Source].
func (r *repeated) Fill(b *data.Batch, _ int64) (int, error) {
	rows := len(b.Tokens) / r.length
	for at := range b.Tokens {
		row, column := at/r.length, at%r.length
		real := column < len(r.tokens)
		b.Tokens[at] = r.pad
		if real {
			b.Tokens[at] = int64(r.tokens[column])
		}
		if b.Fixed != nil {
			b.Fixed[at] = real && r.fixed[column]
		}
		if b.Free != nil {
			b.Free[at] = real && !r.fixed[column]
		}
		if b.Lengths != nil {
			b.Lengths[row] = int64(len(r.tokens))
		}
	}
	return rows, nil
}
