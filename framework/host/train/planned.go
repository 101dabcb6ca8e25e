package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/scorer"
)

// PlannedOptions say which bound of a planned sampler is taken, and how.
type PlannedOptions struct {
	Bound string // one of [PlannedBounds]
	Draws int    // at least 1, over which each row's bound is the mean
	Exact bool   // enumerate instead
}

// Planned measures how likely rows of validation data are under a sampler with a planner: by P2's expanded bound or by P-ELBO, with
// the planner planner.name of the bound's own list. Data, rows, tokenizer and length are those of [Evaluate]; no trainer is asked.
func Planned(ctx context.Context, cfg *config.Config, o host.Options, p PlannedOptions, out Streams) (_ *evaluate.PlannedReport, err error) {
	k, err := openPlanned(ctx, cfg, o, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	d, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	rows := min(k.cfg.Train.EvalRows, d.Valid.Rows())
	if k.enumerates() {
		if err := k.checkExact(d.Valid, rows); err != nil {
			return nil, err
		}
	}
	bar := newMeter(out)
	defer bar.close()
	all := make([][]evaluate.Row, 1+len(k.method.parts)) // the total, then the parts
	err = eachRow(d.Valid, rows, func(i int, row line) error {
		bar.at("bound", int64(i), int64(rows))
		draws, err := k.draws(ctx, row, i)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		one := evaluate.Row{Tokens: len(targets(row.fixed)), Characters: characters(k.model, row.tokens, row.fixed)}
		for t := range all {
			one.Nats = evaluate.Mean(draws[t]).Value
			all[t] = append(all[t], one)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	digests, err := k.digests()
	if err != nil {
		return nil, err
	}
	m := k.method
	r := &evaluate.PlannedReport{Model: k.model.Name, Method: p.Bound, Planner: m.planner, PlannerOptions: m.options, Bound: evaluate.NewBound(m.kind, all[0]),
		Available: d.Valid.Rows(), Draws: k.count(), Forwards: k.oracle.forwards + k.scored, Seed: k.seed, Runtime: ranOn(k.cfg, k.oracle.Capabilities().Provider),
		Seconds: time.Since(k.began).Seconds(), Notes: slices.Concat([]string{}, d.Notes(), k.notes, k.oracle.Notes()), Digests: digests}
	for t, part := range m.parts {
		r.Parts = append(r.Parts, part.Over(all[1+t]))
	}
	return r, nil
}

// planned is a bound of a planned sampler, on a model.
type planned struct {
	*gauge
	PlannedOptions
	oracle *oracle
	scorer *scorer.Network // the planner's own network, or nil
	scored int64           // candidates that went through it
	method *method
}

func openPlanned(ctx context.Context, cfg *config.Config, o host.Options, p PlannedOptions) (_ *planned, err error) {
	k := &planned{PlannedOptions: p}
	if k.method, err = chooseMethod(cfg, p); err != nil {
		return nil, err
	}
	if k.gauge, err = openModel(cfg, o); err != nil {
		return nil, err
	}
	if err := masked(k.model, "a bound of a planned sampler"); err != nil {
		return nil, err
	}
	if k.model.Timesteps {
		return nil, fmt.Errorf("model %s: takes the time, and planned samplers have none: their denoiser sees the sequence alone; evaluate a model without", k.model.Name)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.close())
		}
	}()
	if k.oracle, err = k.openOracle(ctx); err != nil {
		return nil, err
	}
	if k.method.planner == "network" {
		if k.scorer, err = scorer.Open(ctx, cfg, k.model); err != nil {
			return nil, err
		}
		k.notes = append(k.notes, k.scorer.Notes()...)
	}
	return k, nil
}

func (k *planned) close() (err error) {
	if k.scorer != nil {
		err = k.scorer.Close()
	}
	if k.oracle != nil {
		err = errors.Join(err, k.oracle.Close())
	}
	return err
}

// enumerates tells whether every subset of a row's masks is a pass.
func (k *planned) enumerates() bool { return k.Exact && (k.method.law || !k.method.certain) }

// count is how many draws a row takes, 0 where none is random.
func (k *planned) count() int {
	if k.Exact || k.method.certain {
		return 0
	}
	return k.Draws
}

// draws are the bound and its parts of one row, in nats of -log p: [1 + parts][draws], of one draw where nothing is random. number keys
// the noise.
func (k *planned) draws(ctx context.Context, row line, number int) ([][]float64, error) {
	s := &evaluate.Sequence{X0: wide(row.tokens), Free: targets(row.fixed), Mask: int64(k.model.MaskID)}
	together := k.passRows(len(s.X0), max(1, k.count()))
	run := k.method.on(k.oracle.network(ctx, s.Free, together), k.scores(ctx, s.Free))
	out := make([][]float64, 1+len(k.method.parts))
	add := func(terms [][]float64) {
		for _, one := range terms {
			for t, nats := range one {
				out[t] = append(out[t], -nats+0) // no -0
			}
		}
	}
	if k.count() == 0 {
		terms, err := run.exact(s)
		add([][]float64{terms})
		return out, err
	}
	for from := 0; from < k.Draws; from += together {
		terms, err := run.draws(s, k.seed, number, from, min(from+together, k.Draws), k.Draws)
		if err != nil {
			return nil, err
		}
		add(terms)
	}
	return out, nil
}

// scores asks the planner's own network for the scores of free positions.
func (k *planned) scores(ctx context.Context, free []int) evaluate.Scorer {
	return func(z, x [][]int64) ([][]float64, error) {
		out := make([][]float64, len(z))
		for lo := 0; lo < len(z); {
			n := min(len(z)-lo, k.passRows(len(z[lo]), len(z)))
			scores, err := k.scorer.Score(ctx, k.candidates(z[lo:lo+n], x[lo:lo+n], free))
			if err != nil {
				return nil, err
			}
			for r := range n {
				row := make([]float64, len(z[lo]))
				for _, i := range free {
					row[i] = float64(scores[r*len(row)+i])
				}
				out[lo+r] = row
			}
			lo += n
		}
		k.scored += int64(len(z))
		return out, nil
	}
}
