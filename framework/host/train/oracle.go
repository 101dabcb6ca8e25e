package train

import (
	"context"
	"errors"
	"math"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// oracle is the denoiser in the runtime, asked for the log-probabilities of rows.
type oracle struct {
	*onnx.Denoiser
	mask       int32
	suppressed []int64
	forwards   int64 // rows that went through it
}

// openOracle loads the model as sampling does.
func (g *gauge) openOracle(ctx context.Context) (*oracle, error) {
	if err := backend.Local(g.cfg, "the exact bound"); err != nil {
		return nil, err
	}
	options := backend.ONNX(g.cfg.Runtime)
	options.Head, options.Warmup = "", false // it computes no statistics
	d, err := onnx.Open(ctx, backend.Source(g.model), options)
	if err != nil {
		return nil, err
	}
	if err := d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Logits: true}}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &oracle{Denoiser: d, mask: g.model.MaskID, suppressed: g.denoiser.suppress}, nil
}

// enumerate asks for every subset of the row's free positions.
func (o *oracle) enumerate(ctx context.Context, row line) (*evaluate.Exact, error) {
	free := targets(row.fixed)
	network := o.network(ctx, free, 1)
	return evaluate.Enumerate(wide(row.tokens), free, int64(o.mask), func(z []int64) ([][]float64, error) {
		mu, err := network([][]int64{z})
		if err != nil {
			return nil, err
		}
		return mu[0], nil
	})
}

// network gives log mu [B][N][V] at the free positions of rows that are equally long, at most so many rows a pass.
func (o *oracle) network(ctx context.Context, free []int, rows int) evaluate.Network {
	if most := o.Capabilities().MaxRows; most > 0 {
		rows = min(rows, most)
	}
	return func(x [][]int64) ([][][]float64, error) {
		var out [][][]float64
		for len(x) > 0 {
			n := min(rows, len(x))
			some, err := o.ask(ctx, x[:n], free)
			if err != nil {
				return nil, err
			}
			out, x = append(out, some...), x[n:]
		}
		return out, nil
	}
}

// ask is one pass.
func (o *oracle) ask(ctx context.Context, x [][]int64, free []int) ([][][]float64, error) {
	length := len(x[0])
	b, err := o.Batch(len(x), length)
	if err != nil {
		return nil, err
	}
	for r, row := range x {
		copy(b.Tokens[r*length:], row)
		b.Params[r] = sampling.Params{TopP: 1}
	}
	for i := range b.Attention {
		b.Attention[i], b.Active[i] = 1, 1
	}
	s, err := o.Run(ctx)
	if err != nil {
		return nil, err
	}
	o.forwards += int64(len(x))
	out, width := make([][][]float64, len(x)), len(s.Logits)/len(x)/length
	for r := range out {
		out[r] = make([][]float64, length)
		for _, i := range free {
			at := r*length + i
			out[r][i] = o.logSoftmax(s.Logits[at*width : (at+1)*width])
		}
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

// wide are ids as the runtime takes them.
func wide(ids []int32) []int64 {
	out := make([]int64, len(ids))
	for i, id := range ids {
		out[i] = int64(id)
	}
	return out
}
