package train

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// mostExact is the most free positions of a row that is enumerated here: 4095 passes.
const mostExact = 12

// checkExact refuses rows and models that cannot be enumerated.
func (g *gauge) checkExact(d *data.Dataset, rows int) error {
	if g.model.Timesteps {
		return fmt.Errorf("model %s: takes the time, and enumeration is for models without; leave --exact out", g.model.Name)
	}
	return eachRow(d, rows, func(i int, row line) error {
		if n := len(targets(row.fixed)); n > mostExact {
			return fmt.Errorf("row %d: has %d free positions, and --exact enumerates at most %d, every subset of which is a pass; evaluate shorter rows, or leave it out", i, n, mostExact)
		}
		return nil
	})
}

// targets are the free positions.
func targets(fixed []bool) []int {
	out := []int{}
	for i, f := range fixed {
		if !f {
			out = append(out, i)
		}
	}
	return out
}

// exact enumerates the first rows of a set.
func (g *gauge) exact(ctx context.Context, d *data.Dataset, rows, T int, bar *meter) (_ *evaluate.ExactReport, err error) {
	o, err := g.openOracle(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	var schedule *diffusion.Schedule
	var grid diffusion.Grid
	if T > 0 {
		if schedule, err = g.trainer.reply.Schedule.New(); err != nil {
			return nil, err
		}
		if grid, err = diffusion.NewGrid("uniform", T); err != nil {
			return nil, err
		}
	}
	out := &evaluate.ExactReport{}
	var continuous, finite []evaluate.Row
	var likelihood, tokens []float64
	err = eachRow(d, rows, func(i int, row line) error {
		bar.at("exact", int64(i), int64(rows))
		e, err := o.enumerate(ctx, row)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		n := len(targets(row.fixed))
		one := evaluate.ExactRow{Bound: e.Bound(), LogLikelihood: e.LogLikelihood(), Tokens: n}
		if schedule != nil {
			real := g.trainer.task.Real()
			nats := e.FiniteBound(schedule, grid) + schedule.Reconstruction(n, real) + schedule.Prior(n, real)
			one.Finite = &nats
			finite = append(finite, evaluate.Row{Nats: nats, Tokens: n})
		}
		out.Rows = append(out.Rows, one)
		continuous = append(continuous, evaluate.Row{Nats: one.Bound, Tokens: n, Characters: characters(g.model, row.tokens, row.fixed)})
		likelihood, tokens = append(likelihood, one.LogLikelihood), append(tokens, -float64(n))
		return nil
	})
	out.Bound = evaluate.NewBound(g.kind(), continuous)
	out.LogLikelihood, out.BitsPerToken = evaluate.Mean(likelihood), evaluate.Ratio(likelihood, tokens).Bits()
	if schedule != nil {
		out.Finite = &evaluate.Finite{T: T, Schedule: schedule.String(), Bound: evaluate.NewBound(g.kind(), finite)}
	}
	return out, err
}

// oracle is the denoiser in the runtime, asked for the log-probabilities of one row after the other.
type oracle struct {
	*onnx.Denoiser
	mask       int32
	suppressed []int64
}

// openOracle loads the model as sampling does.
func (g *gauge) openOracle(ctx context.Context) (*oracle, error) {
	m, r := g.model, g.cfg.Runtime
	d, err := onnx.Open(ctx, onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V},
		onnx.Options{Library: r.Library, LibraryDirs: r.LibraryDirs, Provider: r.Provider, Device: r.Device, Threads: r.Threads, Optimize: r.Optimize, NoArena: !r.Arena, SessionConfig: r.SessionConfig})
	if err != nil {
		return nil, err
	}
	if err := d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Logits: true}}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &oracle{d, m.MaskID, g.trainer.task.Suppressed}, nil
}

// enumerate asks for every subset of the row's free positions.
func (o *oracle) enumerate(ctx context.Context, row line) (*evaluate.Exact, error) {
	x0 := make([]int64, len(row.tokens))
	for i, id := range row.tokens {
		x0[i] = int64(id)
	}
	return evaluate.Enumerate(x0, targets(row.fixed), int64(o.mask), func(z []int64) ([][]float64, error) { return o.ask(ctx, z) })
}

// ask is log mu [L, V] of a row with masks.
func (o *oracle) ask(ctx context.Context, z []int64) ([][]float64, error) {
	b, err := o.Batch(1, len(z))
	if err != nil {
		return nil, err
	}
	copy(b.Tokens, z)
	for i := range z {
		b.Attention[i], b.Active[i] = 1, 1
	}
	b.Params[0] = sampling.Params{TopP: 1}
	s, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	out, width := make([][]float64, len(z)), len(s.Logits)/len(z)
	for i := range out {
		out[i] = o.logSoftmax(s.Logits[i*width : (i+1)*width])
	}
	return out, nil
}

// logSoftmax gives suppressed tokens no probability, as training does.
func (o *oracle) logSoftmax(logits []float32) []float64 {
	out, top, sum := make([]float64, len(logits)), math.Inf(-1), 0.0
	for i, x := range logits {
		out[i] = float64(x)
	}
	for _, id := range o.suppressed {
		out[id] = math.Inf(-1)
	}
	for _, x := range out {
		top = max(top, x)
	}
	for _, x := range out {
		sum += math.Exp(x - top)
	}
	for i := range out {
		out[i] -= top + math.Log(sum)
	}
	return out
}
