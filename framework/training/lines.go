package training

import (
	"math"
	"time"

	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// log writes the line of the steps since the last one.
func (r *run) log() error {
	i := &r.interval
	metrics := tally(i.Metrics).means()
	loss, steps := i.Loss/float64(i.Steps), float64(i.Steps)
	l := record.Line{Kind: record.Train, Step: r.step, Loss: loss, LR: r.Rate.At(r.step, r.Steps), GradNorm: i.GradNorm / steps,
		BitsPerToken: bits(metrics), Rows: r.rows, Tokens: r.tokens, TokensPerSecond: float64(r.clock.tokens) / time.Since(r.clock.since).Seconds(),
		Seconds: r.seconds(), Metrics: metrics}
	r.interval = checkpoint.Interval{Metrics: tally{}}
	r.clock = clock{since: time.Now()}
	return r.line(l)
}

// NLL is the metric, in nats a token, that bits per token are computed from. A trainer without it has a loss of its own unit alone.
const NLL = "nll"

func bits(metrics map[string]float64) float64 {
	if nll, ok := metrics[NLL]; ok {
		return nll / math.Ln2
	}
	return math.NaN()
}

func (r *run) line(l record.Line) error {
	if r.observer != nil {
		r.observer.Line(l)
	}
	return r.writer.Write(l)
}

func (r *run) seconds() float64 { return r.before + time.Since(r.began).Seconds() }
