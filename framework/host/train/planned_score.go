package train

import (
	"context"
	"errors"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// PlannedScores gives each text's bound under a planned sampler to sink, in order, as [Scores] does the trainer's. Every text gets
// the same noise.
func PlannedScores(ctx context.Context, cfg *config.Config, o host.Options, p PlannedOptions, texts []Text, sink func(Score) error, out Streams) (_ *Ran, err error) {
	g, err := openPlanned(ctx, cfg, o, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	k := &scoring{gauge: g.gauge, ScoreOptions: ScoreOptions{Draws: p.Draws, Exact: g.enumerates()}, done: make([]*Score, len(texts)), sink: sink, bar: newMeter(out)}
	defer k.bar.close()
	if k.digested, err = g.digests(); err != nil {
		return nil, err
	}
	if err := k.encode(texts); err != nil {
		return nil, err
	}
	for i, row := range k.rows {
		k.bar.at("scoring", int64(i), int64(len(k.rows)))
		draws, err := g.draws(ctx, row, 0)
		if err != nil {
			return nil, err
		}
		nats := func(t int) evaluate.Measure {
			if g.count() == 0 {
				return evaluate.Measure{Value: draws[t][0]}
			}
			return evaluate.MeanOfDraws(draws[t])
		}
		s := Score{Kind: g.method.kind, Nats: nats(0), Draws: g.count()}
		for t, part := range g.method.parts {
			part.NatsPerRow = nats(1 + t)
			part.BitsPerToken = part.NatsPerRow.Bits().Times(1 / float64(len(targets(row.fixed))))
			s.Parts = append(s.Parts, part)
		}
		if err := k.put(i, s); err != nil {
			return nil, err
		}
	}
	return &Ran{Model: g.model.Name, Bound: "bound " + p.Bound + ", planner " + g.method.planner, Runtime: ranOn(g.cfg, g.oracle.Capabilities().Provider), Seed: g.seed,
		Notes: append(g.notes, g.oracle.Notes()...)}, nil
}
