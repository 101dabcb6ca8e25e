package training

import (
	"context"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Evaluation is the bound over the rows of a set.
type Evaluation struct {
	Kind    spec.BoundKind
	Rows    int
	Tokens  int64   // free ones, which the bound is of
	Nats    float64 // sum over rows
	Error   float64 // standard error of Nats, from the spread of nats over rows
	Metrics map[string]float64
	PerRow  []float64 // nats
	Counts  []int64   // free tokens
}

// evaluationStep keys the noise of evaluations, which is the same every time: changes of the figure are the model's.
const evaluationStep = 1 << 40

// evaluate runs the evaluation graph over the first rows of a set.
func evaluate(ctx context.Context, p *onnx.Program, m *artifact.Manifest, set *data.Dataset, rows int, seed uint64) (*Evaluation, error) {
	rows = min(rows, set.Rows())
	feed, err := p.NewFeed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = feed.Close() }()
	inputs, err := newFeeding(feed, m, m.Eval, m.EvalRows, &data.Loader{Data: set, Order: data.Once, Seed: seed}, seed)
	if err != nil {
		return nil, err
	}
	bound, err := p.Output(spec.RowBound)
	if err != nil {
		return nil, err
	}
	count, err := p.Output(spec.RowCount)
	if err != nil {
		return nil, err
	}
	f, err := newFigures(p, m.EvalMetric)
	if err != nil {
		return nil, err
	}
	e := &Evaluation{Kind: m.Bound}
	sums := tally{}
	for at := 0; at < rows; at += m.EvalRows {
		n, _, err := inputs.fill(pass{position: int64(at), step: evaluationStep, row: at, batch: rows, done: 1})
		if err != nil {
			return nil, err
		}
		if err := p.Run(ctx, feed); err != nil {
			return nil, err
		}
		for i := range min(n, rows-at) {
			nats := float64(bound[i])
			if math.IsNaN(nats) {
				return nil, fmt.Errorf("evaluation: the bound of row %d is not a number; expected nats, the parameters may have diverged", at+i)
			}
			e.PerRow, e.Counts = append(e.PerRow, nats), append(e.Counts, int64(count[i]))
		}
		sums.add(&f)
	}
	e.Metrics = sums.means()
	e.total()
	return e, nil
}

// total adds the rows up.
func (e *Evaluation) total() {
	e.Rows = len(e.PerRow)
	for i, nats := range e.PerRow {
		e.Nats += nats
		e.Tokens += e.Counts[i]
	}
	mean, spread := e.Nats/float64(max(e.Rows, 1)), 0.0
	for _, nats := range e.PerRow {
		spread += (nats - mean) * (nats - mean)
	}
	if e.Rows > 1 {
		e.Error = math.Sqrt(spread / float64(e.Rows-1) * float64(e.Rows))
	}
}

// BitsPerToken is the mean over free tokens.
func (e *Evaluation) BitsPerToken() float64 {
	return e.Nats / float64(max(e.Tokens, 1)) / math.Ln2
}
