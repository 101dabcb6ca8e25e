package trainer

import (
	"fmt"
	"path"
	"runtime"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Loss is what a training step minimises, with metrics beside it. Gradients are of the loss alone.
type Loss struct {
	what    string // the constructor's name, for messages
	at      string // the author's line
	rows    []graph.Value
	scalar  bool
	metrics []metric
}

// metric is a ratio that the host adds up over rows and steps.
type metric struct {
	name       string
	sum, count graph.Value
	at         string
}

// PerRow is the mean over the rows of the batch of a number per row, float32 [B].
func PerRow(sum graph.Value) Loss {
	return Loss{what: "PerRow", at: caller(), rows: []graph.Value{sum}}
}

// PerToken is the sum over all rows of sum, divided by that of count, float32 [B] both: nats per token for a bound per row and
// its [Inputs.FreeCount]. A batch without any token counts 0. Where rows differ in count and a step has several
// batches, each batch is divided by its own tokens.
func PerToken(sum, count graph.Value) Loss {
	return Loss{what: "PerToken", at: caller(), rows: []graph.Value{sum, count}}
}

// Scalar is a loss that is a scalar already, float32 [].
func Scalar(v graph.Value) Loss {
	return Loss{what: "Scalar", at: caller(), rows: []graph.Value{v}, scalar: true}
}

// Metric adds a ratio for the log: the host divides the total of sum by the total of count, float32 [B] both or both scalars.
func (l Loss) Metric(name string, sum, count graph.Value) Loss {
	l.metrics = append(l.metrics[:len(l.metrics):len(l.metrics)], metric{name, sum, count, caller()})
	return l
}

// Bound is what an evaluation says of each row, with metrics beside it.
type Bound struct {
	at           string
	bound, count graph.Value
	metrics      []metric
}

// RowBound is -log p of each row in nats, and how many tokens that is of, float32 [B] both.
func RowBound(bound, count graph.Value) Bound {
	return Bound{at: caller(), bound: bound, count: count}
}

// Metric adds a ratio, as [Loss.Metric] does.
func (b Bound) Metric(name string, sum, count graph.Value) Bound {
	b.metrics = append(b.metrics[:len(b.metrics):len(b.metrics)], metric{name, sum, count, caller()})
	return b
}

// caller is the line that called the function that calls caller.
func caller() string {
	if _, file, line, ok := runtime.Caller(2); ok {
		return fmt.Sprintf("%s:%d: ", path.Base(file), line)
	}
	return ""
}

// outputs are those of the training graph.
func (l Loss) outputs(g *graph.Builder) ([]graph.Output, error) {
	if l.what == "" {
		return nil, fmt.Errorf("graph %s: the loss is the zero value; expected trainer.PerRow, PerToken or Scalar", g.Name())
	}
	rank := 1
	if l.scalar {
		rank = 0
	}
	for _, v := range l.rows {
		if err := expect(g, l.at, l.what, v, rank); err != nil {
			return nil, err
		}
	}
	loss := l.rows[0]
	switch l.what {
	case "PerRow":
		loss = g.ReduceMean(loss, false)
	case "PerToken":
		loss = g.Div(g.ReduceSum(loss, false), g.Max(g.ReduceSum(l.rows[1], false), g.Float(1)))
	}
	return metricOutputs(g, []graph.Output{{Name: spec.Loss, Value: loss}}, l.metrics)
}

// outputs are those of the evaluation graph.
func (b Bound) outputs(g *graph.Builder) ([]graph.Output, error) {
	for _, v := range []graph.Value{b.bound, b.count} {
		if err := expect(g, b.at, "RowBound", v, 1); err != nil {
			return nil, err
		}
	}
	return metricOutputs(g, []graph.Output{{Name: spec.RowBound, Value: b.bound}, {Name: spec.RowCount, Value: b.count}}, b.metrics)
}

func metricOutputs(g *graph.Builder, out []graph.Output, metrics []metric) ([]graph.Output, error) {
	for _, m := range metrics {
		rank := 1
		if m.sum.HasRank() && m.sum.Rank() == 0 {
			rank = 0
		}
		for _, v := range []graph.Value{m.sum, m.count} {
			if err := expect(g, m.at, "Metric "+m.name, v, rank); err != nil {
				return nil, err
			}
		}
		out = append(out, graph.Output{Name: spec.MetricPrefix + m.name + spec.SumSuffix, Value: m.sum},
			graph.Output{Name: spec.MetricPrefix + m.name + spec.CountSuffix, Value: m.count})
	}
	return out, nil
}

// expect holds a result against its type and rank.
func expect(g *graph.Builder, at, what string, v graph.Value, rank int) error {
	if v.Type() == graph.Float32 && v.HasRank() && v.Rank() == rank {
		return nil
	}
	shape := "[B], one number a row"
	if rank == 0 {
		shape = "[], a scalar"
	}
	return fmt.Errorf("graph %s: %s%s: %s; expected float32 %s", g.Name(), at, what, v, shape)
}
