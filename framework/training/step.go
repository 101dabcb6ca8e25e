package training

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mdmhost/mdmhost/framework/training/artifact"
)

// takeStep runs the passes of one step.
func (r *run) takeStep(ctx context.Context, q *queue) error {
	var loss float64
	rows, tokens := int64(0), int64(0)
	clear(r.metrics)
	metrics := r.metrics
	for range r.Accumulate {
		waiting := time.Now()
		b, err := q.next(ctx)
		if err != nil {
			return err
		}
		running := time.Now()
		r.summary.Share.Data += running.Sub(waiting).Seconds()
		err = r.k.pass.Run(ctx, b.feed)
		r.summary.Share.Steps += time.Since(running).Seconds()
		rows, tokens = rows+int64(b.rows), tokens+b.tokens
		q.done(b)
		if err != nil {
			return err
		}
		loss += float64(q.figures.loss[0]) / float64(r.Accumulate)
		if !finite(loss) {
			return r.diverged("loss", loss, r.step+1)
		}
		metrics.add(&q.figures)
	}
	if r.k.update != nil {
		running := time.Now()
		r.scalars(q.scalars, r.step+1)
		if err := r.k.update.Run(ctx, r.k.tail); err != nil {
			return err
		}
		r.summary.Share.Steps += time.Since(running).Seconds()
	}
	norm := float64(q.figures.norm[0])
	if !finite(norm) {
		return r.diverged("norm of the gradient", norm, r.step+1)
	}
	r.step++
	r.rows += rows
	r.tokens += tokens
	r.summary.SessionTokens += tokens
	if r.observer != nil {
		r.observer.Step(r.step)
	}
	i := &r.interval
	i.Loss, i.GradNorm, i.Steps = i.Loss+loss, i.GradNorm+norm, i.Steps+1
	for name, m := range metrics {
		sum := i.Metrics[name]
		i.Metrics[name] = [2]float64{sum[0] + m[0], sum[1] + m[1]}
	}
	r.clock.tokens += tokens
	return nil
}

// diverged is the error of a number that was computed of the present parameters, in a step or after it.
func (r *run) diverged(what string, value float64, step int64) error {
	return &Diverged{Step: step, State: r.step, What: what, Value: value, Rate: r.Rate.At(step, r.Steps)}
}

// Diverged is the error of a run whose loss, gradient, parameters or evaluation are not finite. Nothing was saved since.
type Diverged struct {
	Step  int64
	State int64  // steps that made the parameters it was computed of: the checkpoints before are sound
	What  string // such as "loss"
	Value float64
	Rate  float64 // the learning rate
}

// Error says what was found.
func (d *Diverged) Error() string {
	return fmt.Sprintf("step %d: the %s is %v, expected a finite number (learning rate %.3g)", d.Step, d.What, d.Value, d.Rate)
}

// scalars fills what the optimiser is told for a step.
func (r *run) scalars(to []float32, step int64) {
	adam := &r.Set.Manifest.Adam
	to[artifact.ScalarRate] = float32(r.Rate.At(step, r.Steps))
	to[artifact.ScalarClip] = float32(r.Clip)
	to[artifact.ScalarBias1] = float32(-math.Expm1(float64(step) * math.Log(adam.Beta1)))
	to[artifact.ScalarBias2] = float32(-math.Expm1(float64(step) * math.Log(adam.Beta2)))
	// The average of a young run would be its initial values for the most part: it begins short and grows to EMA.
	to[artifact.ScalarAverage] = float32(min(r.EMA, float64(step)/float64(step+10)))
	to[artifact.ScalarScale] = 1 / float32(r.Accumulate)
}
