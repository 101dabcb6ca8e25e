package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// EvalOptions say what is measured besides the bound.
type EvalOptions struct {
	Draws     int  // of noise, at least 1
	Exact     bool // enumerate every subset of masks
	Timesteps int  // of the finite-T bound that Exact gives, too; 0: none
	Accuracy  bool // sample the rows' answers
}

// Evaluate measures a finished model on validation data: the first train.eval_rows rows of data.valid, or the validation part
// of data.train or data.prepared. The tokenizer is the model's, and so is the length where nobody gives one.
func Evaluate(ctx context.Context, cfg *config.Config, o host.Options, e EvalOptions, out Streams) (_ *evaluate.Report, err error) {
	g, err := openGauge(ctx, cfg, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	d, err := g.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	bar := newMeter(out)
	defer bar.close()
	rows := min(g.cfg.Train.EvalRows, d.Valid.Rows())
	if e.Exact { // what it refuses is refused before anything takes long
		if err := g.checkExact(d.Valid, rows); err != nil {
			return nil, err
		}
	}
	if e.Accuracy {
		if err := masked(g.model, "--accuracy"); err != nil {
			return nil, err
		}
	}
	if e.Accuracy && d.Spec.FixedColumn == "" && d.Spec.PromptColumn == "" {
		return nil, config.Problems{{Key: "data.fixed_column", Text: "is not given, and without given positions there are no answers to be right; name the column, or leave --accuracy out"}}
	}
	r := &evaluate.Report{Model: g.model.Name, Trainer: g.cfg.Trainer.Name, TrainerOptions: g.trainer.options, Available: d.Valid.Rows(), Draws: e.Draws, Seed: g.seed, Notes: []string{}}
	if err := g.bound(ctx, d.Valid, rows, r, bar); err != nil {
		return nil, err
	}
	if e.Exact {
		if r.Exact, err = g.exact(ctx, d.Valid, rows, e.Timesteps, bar); err != nil {
			return nil, err
		}
	}
	if e.Accuracy {
		if r.Accuracy, err = g.accuracy(ctx, d.Valid, rows, bar); err != nil {
			return nil, err
		}
	}
	if r.Digests, err = g.digests(); err != nil {
		return nil, err
	}
	if e.Accuracy {
		if err := g.withSampler(r.Digests); err != nil {
			return nil, err
		}
	}
	if g.model.Insertion() {
		r.Notes = append(r.Notes, "the path bound of an insertion model counts, too, that nobody knows which places the visible tokens will have: compare it with those of insertion models alone")
	}
	r.Runtime, r.Seconds = g.runtime(), time.Since(g.began).Seconds()
	r.Notes = slices.Concat(r.Notes, d.Notes(), g.notes, g.device.Notes())
	return r, nil
}

// open reads the validation data with the model's tokenizer.
func (g *gauge) open(ctx context.Context) (*data.Data, error) {
	s, m := g.cfg.Data, g.model
	if s.Prepared == "" && s.Length == 0 {
		s.Length = m.MaxLength
	}
	if !g.cfg.Given("data.layout") && (m.Manifest.Length.Policy == "fixed" || m.Insertion()) {
		s.Layout = data.Padded
	}
	read := data.OpenValid
	if len(s.Valid) == 0 && s.Prepared == "" {
		if len(s.Train) == 0 || s.ValidFraction == 0 {
			return nil, config.Problems{{Key: "data.valid", Text: "is empty, expected the files to evaluate on; give them with --valid FILE"}}
		}
		read = data.Open
	}
	options, err := dataOptions(g.cfg, m)
	if err != nil {
		return nil, err
	}
	d, err := read(ctx, s, options)
	if err != nil {
		return nil, ofModel(m, settingProblems(g.cfg, err))
	}
	if err := g.fits(d.Valid); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// fits refuses rows that the model does not take.
func (g *gauge) fits(d *data.Dataset) error {
	m, length := g.model, d.Length()
	full := d.Packed() || d.Counts().Tokens == int64(d.Rows())*int64(length)
	switch {
	case m.Insertion() && d.Packed():
		return config.Problems{{Origin: g.cfg.Origin("data.layout"), Key: "data.layout", Text: "is packed, and rows of an insertion model are records, each with an end of its own; set it to padded"}}
	case m.MaxLength > 0 && length > m.MaxLength:
		return config.Problems{{Origin: g.cfg.Origin("data.length"), Key: "data.length", Text: fmt.Sprintf("is %d, and the model's longest row has %d positions; use at most those", length, m.MaxLength)}}
	case !m.AttentionMask && !full:
		return fmt.Errorf("model %s: takes no attention mask, so that rows cannot be padded to %d positions; give rows that all have as many", m.Name, length)
	}
	return nil
}

// bound runs the trainer's evaluation graph, once for each draw, and takes the mean of each row's numbers.
func (g *gauge) bound(ctx context.Context, d *data.Dataset, rows int, r *evaluate.Report, bar *meter) error {
	e, err := g.evaluator(ctx, g.passRows(d.Length(), rows), d.Length())
	if err != nil {
		return err
	}
	all := make([]evaluate.Row, rows)
	r.Metrics = map[string]float64{}
	from := &data.Loader{Data: d, Order: data.Once, Seed: g.seed}
	for draw := range r.Draws {
		done := func(n int) { bar.at("bound", int64(draw*rows+n), int64(r.Draws*rows)) }
		one, err := e.Evaluate(ctx, from, training.Draw{Rows: rows, Seed: g.seed, Number: int64(draw), Done: done})
		if err != nil {
			return errors.Join(err, e.Close())
		}
		for i, nats := range one.PerRow {
			all[i].Nats += nats / float64(r.Draws)
			all[i].Tokens = int(one.Counts[i])
		}
		for name, v := range one.Metrics {
			r.Metrics[name] += v / float64(r.Draws)
		}
	}
	err = eachRow(d, rows, func(i int, row line) error {
		all[i].Characters = characters(g.model, row.tokens, row.fixed)
		return nil
	})
	r.Bound = evaluate.NewBound(g.kind(), all)
	return errors.Join(err, e.Close())
}

// line is a row of a set without its padding.
type line struct {
	tokens []int32
	fixed  []bool
}

// eachRow calls use with the first rows of a set; what it is given is valid until it returns.
func eachRow(d *data.Dataset, rows int, use func(i int, row line) error) error {
	row := data.Row{Tokens: make([]int64, d.Length()), Fixed: make([]bool, d.Length())}
	ids := make([]int32, d.Length())
	for i := range rows {
		if err := d.Row(i, &row); err != nil {
			return err
		}
		for j, id := range row.Tokens[:row.Length] {
			ids[j] = int32(id)
		}
		if err := use(i, line{ids[:row.Length], row.Fixed[:row.Length]}); err != nil {
			return err
		}
	}
	return nil
}

// characters counts what the free tokens of a row spell.
func characters(m *model.Model, ids []int32, fixed []bool) int {
	free := make([]int32, 0, len(ids))
	for i, id := range ids {
		if !fixed[i] {
			free = append(free, id)
		}
	}
	return utf8.RuneCountInString(m.Tokenizer.Decode(free, true))
}
