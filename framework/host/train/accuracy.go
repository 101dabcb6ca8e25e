package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/answer"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/data"
)

// accuracy samples the free positions of the first rows of a set, with planner, sampler and settings as `mdmhost sample` has
// them, and compares with what stands there.
func (g *gauge) accuracy(ctx context.Context, d *data.Dataset, rows int, bar *meter) (_ *evaluate.Accuracy, err error) {
	cfg, err := g.cfg.With(config.Assignment{Key: "seed", Value: fmt.Sprint(g.seed), Flag: "seed"})
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, cfg, g.host)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	truth, requests, err := questions(h, d, rows)
	if err != nil {
		return nil, err
	}
	answers, next := make([]evaluate.Answer, rows), 0
	done := 0
	_, err = h.Sample(ctx, rows, func() (sampling.Request, bool) {
		if next == len(requests) {
			return sampling.Request{}, false
		}
		next++
		return requests[next-1], true
	}, func(r sampling.Result) error {
		if r.Err != nil {
			return fmt.Errorf("row %d: %w", r.Index, r.Err)
		}
		answers[r.Index] = compare(truth[r.Index], requests[r.Index].Fixed, r)
		done++
		bar.at("accuracy", int64(done), int64(rows))
		return nil
	})
	if err != nil {
		return nil, err
	}
	a := evaluate.NewAccuracy(answers)
	a.Planner, a.Sampler = answer.DescribedPlanner(h.Config().Planner), answer.Described(h.Config().Sampler)
	return &a, nil
}

// questions are the rows with masks in the place of the answers.
func questions(h *host.Host, d *data.Dataset, rows int) (truth [][]int32, requests []sampling.Request, err error) {
	m, s := h.Model(), h.Config().Sampling
	params := sampling.Params{Temperature: float32(s.Temperature), TopK: int32(s.TopK), TopP: float32(s.TopP), MinP: float32(s.MinP)}
	err = eachRow(d, rows, func(i int, row line) error {
		truth = append(truth, slices.Clone(row.tokens))
		asked := slices.Clone(row.tokens)
		for _, at := range targets(row.fixed) {
			asked[at] = m.MaskID
		}
		encoded, err := m.EncodeTokens(asked)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: encoded.Tokens, Fixed: encoded.Fixed, Steps: h.Config().Steps, Params: params})
		return nil
	})
	return truth, requests, err
}

// compare counts what was filled in rightly.
func compare(truth []int32, fixed []bool, r sampling.Result) evaluate.Answer {
	a := evaluate.Answer{NFE: r.NFE}
	for _, at := range targets(fixed) {
		a.Free++
		if at < len(r.Tokens) && r.Tokens[at] == truth[at] {
			a.Right++
		}
	}
	return a
}
