package training

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion"
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
	e := &Evaluator{program: p, manifest: m}
	return e.Evaluate(ctx, &data.Loader{Data: set, Order: data.Once, Seed: seed}, Draw{Rows: min(rows, set.Rows()), Seed: seed})
}

// Evaluator runs an evaluation graph over rows. It is used by one goroutine at a time.
type Evaluator struct {
	program  *onnx.Program
	manifest *artifact.Manifest
}

// NewEvaluator loads the evaluation graph of a set whose networks hold their weights themselves ([artifact.ComposeEval]) into
// the device. dir is the folder of weights in other files. Close frees it.
func NewEvaluator(ctx context.Context, d *onnx.Device, s *artifact.Set, dir string) (*Evaluator, error) {
	m := &s.Manifest
	if m.Size()+m.Still() > 0 {
		all := slices.Concat(m.Parameters, m.Frozen)
		return nil, fmt.Errorf("evaluation graph: it has the parameter %s, and no values of it; expected networks that hold their weights", all[0].Name)
	}
	p, err := d.NewProgram(ctx, onnx.Model{Name: "eval_model", Data: s.Eval.Encode(), Dir: dir}, onnx.ProgramOptions{Outputs: results(s.Eval)})
	if err != nil {
		return nil, err
	}
	return &Evaluator{program: p, manifest: m}, nil
}

// Close frees the graph.
func (e *Evaluator) Close() error { return e.program.Close() }

// Draw says which rows are evaluated, and under which noise.
type Draw struct {
	Rows   int // the first of the source; times are stratified over them
	Seed   uint64
	Number int64          // draws of different numbers are independent
	Done   func(rows int) // is told how many rows are done, now and then; or nil
}

// Evaluate runs the graph over the rows of a draw. A row's number depends on the draw and on its place among the rows, not on
// its neighbours.
func (e *Evaluator) Evaluate(ctx context.Context, from Source, d Draw) (*Evaluation, error) {
	p, m, rows := e.program, e.manifest, d.Rows
	feed, err := p.NewFeed()
	if err != nil {
		return nil, err
	}
	defer func() { _ = feed.Close() }()
	inputs, err := newFeeding(feed, m, m.Eval, m.EvalRows, from, d.Seed)
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
	out := &Evaluation{Kind: m.Bound}
	sums := tally{}
	turn := d.turn()
	for at := 0; at < rows; at += m.EvalRows {
		n, _, err := inputs.fill(d.passAt(at, turn))
		if err != nil {
			return nil, err
		}
		if err := p.Run(ctx, feed); err != nil {
			return nil, err
		}
		for i := range min(n, rows-at) {
			nats := float64(bound[i])
			if !finite(nats) {
				return nil, &NotFinite{Row: at + i, Nats: nats}
			}
			out.PerRow, out.Counts = append(out.PerRow, nats), append(out.Counts, int64(count[i]))
		}
		sums.add(&f)
		if d.Done != nil {
			d.Done(min(at+m.EvalRows, rows))
		}
	}
	out.Metrics = sums.means()
	out.total()
	return out, nil
}

// NotFinite is the error of a row whose bound is no finite number.
type NotFinite struct {
	Row  int
	Nats float64
}

// Error says what it may come from.
func (n *NotFinite) Error() string {
	return fmt.Sprintf("evaluation: the bound of row %d is %v, expected finite nats; the model's parameters may have diverged when it was trained, or its logits overflow", n.Row, n.Nats)
}

// passAt is the pass that begins with a row.
func (d Draw) passAt(row, turn int) pass {
	return pass{position: int64(row), step: evaluationStep + d.Number, row: row, batch: d.Rows, turn: turn, done: 1}
}

// turn turns the times of a draw round by a random number of places. Times that are stratified over rows would else give the
// first row of a set a small time and the last one a large time in every draw, which is unbiased for rows in random order alone.
func (d Draw) turn() int {
	var u [1]float32
	diffusion.NewNoise(d.Seed, "turn").Uniform(u[:], evaluationStep+d.Number, 0, 1)
	return int(float64(u[0]) * float64(d.Rows))
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
