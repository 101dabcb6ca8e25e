// Package training runs gradient steps through training artifacts: ONNX graphs for forward, loss, backward and update
// (package artifact), fed with rows of data and noise, with parameters and moments that stay inside the runtime. A run is an
// exact function of its seed, its data and its artifacts: killed at any moment and resumed, it ends with the same bits (on
// the CPU with one thread).
package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Options say how a run goes on.
type Options struct {
	Seed            uint64
	Steps           int64
	Accumulate      int // passes of a step
	Rate            Rate
	Clip            float64 // largest norm of the gradient; 0: no clipping
	EMA             float64 // decay of the moving average; shorter in the first steps, step / (step + 10)
	EvalEvery       int64   // steps; 0: only at the end
	EvalRows        int     // of an evaluation
	Patience        int     // evaluations without a better one before the run stops; 0: never
	CheckpointEvery int64
	LogEvery        int64
	Budget          time.Duration // of this session; 0: no bound
	Shuffle         bool
}

// Observer is told how a run goes.
type Observer interface {
	// Step is told the number of steps done, after each.
	Step(done int64)
	// Line is told every line of metrics.jsonl.
	Line(record.Line)
}

// Parts are what a run works with. The caller opens and closes them.
type Parts struct {
	Device  *onnx.Device
	Set     *artifact.Set
	Train   *data.Dataset
	Valid   *data.Dataset // nil: no evaluations
	Initial *State        // where a new run begins
	Frozen  []float32     // parameters that are not trained

	Store   *checkpoint.Store
	Names   Names  // digests for the checkpoints
	Metrics string // path of metrics.jsonl
	// Observe makes the observer when it is known where the session begins: steps done and the best evaluation, or nil.
	Observe func(from int64, best *checkpoint.Best) Observer
}

// Names are the digests that bind a checkpoint to its run.
type Names struct {
	Config    string
	Artifacts map[string]string
	Digests   map[string]string // of the trainer's code and of the model that the run began with, for those who look; not compared
}

// End says why a run ended.
type End string

// The ends of a run.
const (
	Finished  End = "finished"    // all steps are done
	Stopped   End = "stopped"     // no better evaluation for long enough
	OutOfTime End = "out_of_time" // the session's budget is spent; the run can go on
	Cancelled End = "cancelled"   // by the user; the run can go on
)

// Summary is what a session of a run did.
type Summary struct {
	End           End
	From, Step    int64 // the steps done before the session and after it
	Rows          int64
	Tokens        int64 // of the whole run; SessionTokens of this session
	SessionTokens int64
	Best          *checkpoint.Best
	Last          *Evaluation // the last evaluation of this session, or nil
	Seconds       float64     // of this session
	Share         Share
	Skipped       []error // checkpoints left out because they are damaged
}

// Share is where the time of a session went, in seconds.
type Share struct{ Data, Steps, Evaluations, Checkpoints float64 }

// run is a session in progress.
type run struct {
	Options
	Parts
	k      *machine
	state  *State
	writer *record.Writer

	step     int64 // done
	rows     int64
	tokens   int64
	best     *checkpoint.Best
	since    int     // evaluations since the best
	judged   int64   // step of the last evaluation
	saved    int64   // step of the last checkpoint, -1 before the first
	before   float64 // seconds of earlier sessions
	began    time.Time
	summary  Summary
	interval checkpoint.Interval // adds up what one line of metrics.jsonl is about
	metrics  tally               // of the step in progress
	clock    clock
	observer Observer
}

// clock measures speed: what this session did since it was set.
type clock struct {
	since  time.Time
	tokens int64
}

// Train begins a run, or goes on with the one in the store, until it ends or ctx does. Cancelling is no error: the run is
// saved and can go on. An error leaves the last checkpoint as it is; that of numbers that are not finite is a [Diverged].
func Train(ctx context.Context, o Options, p Parts) (*Summary, error) {
	if err := o.Rate.check(); err != nil {
		return nil, err
	}
	r := &run{Options: o, Parts: p, began: time.Now(), metrics: tally{}, saved: -1}
	var err error
	if r.k, err = newMachine(ctx, p.Device, p.Set, o.Accumulate); err != nil {
		return nil, err
	}
	if err := r.begin(); err != nil {
		return nil, err
	}
	err = r.loop(ctx)
	return r.finish(err)
}

// begin puts the newest checkpoint, or the initial state, into the runtime.
func (r *run) begin() error {
	r.state, r.interval = newState(&r.Set.Manifest), checkpoint.Interval{Metrics: tally{}}
	c, skipped, err := r.Store.Latest()
	r.summary.Skipped = skipped
	switch {
	case err == nil:
		if err := c.Match(r.Names.Config, r.Names.Artifacts); err != nil {
			return err
		}
		if err := r.restore(c); err != nil {
			return err
		}
		r.saved = r.step
	case errors.Is(err, checkpoint.ErrNone):
		copy(r.state.Params, r.Initial.Params)
		copy(r.state.M, r.Initial.M)
		copy(r.state.V, r.Initial.V)
		copy(r.state.EMA, r.Initial.Params)
	default:
		return err
	}
	r.summary.From = r.step
	if err := r.k.set(r.state); err != nil {
		return err
	}
	if r.k.frozen != nil {
		if err := r.k.frozen.WriteFloats(r.Frozen); err != nil {
			return err
		}
	}
	var lines []record.Line
	if r.writer, lines, err = record.Open(r.Metrics, r.saved); err != nil {
		return err
	}
	r.recall(lines)
	if r.Observe != nil {
		r.observer = r.Observe(r.step, r.best)
	}
	return nil
}

// recall reads from the lines of earlier sessions which evaluation was the last, and how many came after the best one.
func (r *run) recall(lines []record.Line) {
	for _, l := range lines {
		if l.Kind != record.Eval {
			continue
		}
		if r.judged = l.Step; r.best == nil || l.Step > r.best.Step {
			r.weigh(l.Step, l.Loss)
		}
	}
}

// weigh holds an evaluation against the best one.
func (r *run) weigh(step int64, value float64) {
	if r.since++; r.best == nil || value < r.best.Value {
		r.best, r.since = &checkpoint.Best{Step: step, Metric: string(r.Set.Manifest.Bound), Value: value}, 0
	}
}

// loop takes steps until the run ends.
func (r *run) loop(ctx context.Context) error {
	queue, err := r.newQueue(ctx)
	if err != nil {
		return err
	}
	defer queue.close()
	r.clock = clock{since: time.Now()}
	err = r.judge(ctx) // what an earlier session was interrupted in
	for err == nil {
		switch {
		case ctx.Err() != nil:
			r.summary.End = Cancelled
		case r.Patience > 0 && r.since >= r.Patience:
			r.summary.End = Stopped
		case r.step >= r.Steps:
			r.summary.End = Finished
		case r.Budget > 0 && time.Since(r.began) >= r.Budget:
			r.summary.End = OutOfTime
		}
		if r.summary.End != "" {
			return nil
		}
		if err = r.takeStep(ctx, queue); err == nil {
			err = r.after(ctx)
		}
	}
	if ctx.Err() != nil {
		r.summary.End, err = Cancelled, nil
	}
	return err
}

// after writes lines, evaluates and saves where it is time to.
func (r *run) after(ctx context.Context) error {
	last := r.step == r.Steps
	if r.step%r.LogEvery == 0 || last {
		if err := r.log(); err != nil {
			return err
		}
	}
	if err := r.judge(ctx); err != nil {
		return err
	}
	better := r.best != nil && r.best.Step == r.step
	if r.step%r.CheckpointEvery == 0 || last || better {
		return r.save()
	}
	return nil
}

// judge evaluates where it is time to and was not done yet, and notes whether the result is the best so far.
func (r *run) judge(ctx context.Context) error {
	due := r.step == r.Steps || r.EvalEvery > 0 && r.step%r.EvalEvery == 0
	if r.Valid == nil || !due || r.judged >= r.step {
		return nil
	}
	began := time.Now()
	e, err := evaluate(ctx, r.k.eval, &r.Set.Manifest, r.Valid, r.EvalRows, r.Seed)
	var bad *NotFinite
	if errors.As(err, &bad) {
		return r.diverged(fmt.Sprintf("bound of row %d of the evaluation", bad.Row), bad.Nats, r.step)
	}
	if err != nil {
		return err
	}
	r.summary.Share.Evaluations += time.Since(began).Seconds()
	r.summary.Last, r.judged = e, r.step
	value := e.Nats / float64(max(e.Tokens, 1))
	r.weigh(r.step, value)
	r.clock = clock{since: time.Now()}
	return r.line(record.Line{Kind: record.Eval, Step: r.step, Loss: value, BitsPerToken: value / math.Ln2, Rows: r.rows, Tokens: r.tokens,
		Seconds: r.seconds(), Metrics: e.Metrics})
}

// finish saves what was done since the last checkpoint and returns the summary.
func (r *run) finish(err error) (*Summary, error) {
	if r.writer != nil {
		if err == nil && r.saved != r.step {
			err = r.save()
		}
		err = errors.Join(err, r.writer.Close())
	}
	s := &r.summary
	s.Step, s.Rows, s.Tokens, s.Best, s.Seconds = r.step, r.rows, r.tokens, r.best, time.Since(r.began).Seconds()
	return s, err
}

var _ buffers = (*onnx.Feed)(nil)
