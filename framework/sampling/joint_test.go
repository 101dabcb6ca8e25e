package sampling_test

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// joint is an explicit distribution over V^L sequences with an exact denoiser: at every position the posterior given
// the other visible tokens, like reference/joint_model.py. The mask id is V.
type joint struct {
	l, v int
	p    []float64 // [V^L] sequences in lexicographic order
}

func newJoint(l, v int, seed uint64) *joint {
	n := 1
	for range l {
		n *= v
	}
	j, rng, sum := &joint{l: l, v: v, p: make([]float64, n)}, rand.New(rand.NewPCG(seed, 1)), 0.0
	for i := range j.p {
		j.p[i] = math.Exp(1.5 * rng.NormFloat64())
		sum += j.p[i]
	}
	for i := range j.p {
		j.p[i] /= sum
	}
	return j
}

// symbol returns token l of sequence s.
func (j *joint) symbol(s, l int) int {
	for range j.l - 1 - l {
		s /= j.v
	}
	return s % j.v
}

func (j *joint) index(tokens []int32) int {
	s := 0
	for _, t := range tokens {
		s = s*j.v + int(t)
	}
	return s
}

// logits fills out [L, V+1] for one row.
func (j *joint) logits(tokens []int64, out []float32) {
	acc := make([]float64, j.l*j.v)
	for s, p := range j.p {
		bad, where := 0, -1
		for l, t := range tokens {
			if int(t) != j.v && int(t) != j.symbol(s, l) {
				bad++
				where = l
			}
		}
		for l := range j.l {
			if bad == 0 || bad == 1 && where == l {
				acc[l*j.v+j.symbol(s, l)] += p
			}
		}
	}
	for l := range j.l {
		for v := range j.v {
			out[l*(j.v+1)+v] = float32(math.Log(acc[l*j.v+v] + 1e-300))
		}
		out[l*(j.v+1)+j.v] = 100 // the mask's own logit must never matter
	}
}

// goDenoiser serves logits of a Go function through the Go form of the statistics.
type goDenoiser struct {
	v      int
	logits func(tokens []int64, out []float32) // [L] -> [L, V]
	head   sampling.Head
	batch  sampling.Batch
	stats  sampling.Statistics
	passes int
	seen   func(*sampling.Batch)
	pad    bool
	timed  bool // reads times
	window bool // claims to run windows alone
}

func (d *goDenoiser) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Padding: d.pad, V: d.v, Runtime: "go", Provider: "cpu"}
}

func (d *goDenoiser) Configure(_ context.Context, h sampling.Head) error {
	d.head = h
	return nil
}

func (d *goDenoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l)}
	if d.timed {
		d.batch.Time = make([]float32, b)
	}
	if d.window {
		d.batch.Lo, d.batch.Hi = make([]int32, b), make([]int32, b)
	}
	return &d.batch, nil
}

func (d *goDenoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.passes++
	if d.seen != nil {
		d.seen(&d.batch)
	}
	b, l := d.batch.B, d.batch.L
	out := make([]float32, b*l*d.v)
	for i := range b {
		n := 0
		for n < l && d.batch.Attention[i*l+n] == 1 {
			n++
		}
		d.logits(d.batch.Tokens[i*l:i*l+n], out[i*l*d.v:(i*l+n)*d.v])
	}
	d.stats.Partial = d.window && d.passes > 1
	return &d.stats, sampling.Compute(out, d.v, &d.batch, d.head, &d.stats)
}

func (d *goDenoiser) Close() error { return nil }

// planFunc is a planner made of one function.
type planFunc func(row *sampling.Row, d *sampling.Decision)

func (planFunc) Describe(context.Context) (sampling.Description, error) {
	return sampling.Description{Kind: sampling.KindPlanner, Name: "func"}, nil
}
func (planFunc) Start(context.Context, sampling.Run) (sampling.Needs, error) {
	return sampling.Needs{}, nil
}
func (f planFunc) Plan(_ context.Context, s *sampling.Step, out []sampling.Decision) error {
	for i := range s.Rows {
		f(&s.Rows[i], &out[i])
	}
	return nil
}
func (planFunc) End(context.Context) error { return nil }

func eligible(r *sampling.Row) []int32 {
	var out []int32
	for i, f := range r.Flags {
		if f&sampling.Eligible != 0 {
			out = append(out, int32(i))
		}
	}
	return out
}

// leftmost opens the first masked position.
func leftmost(r *sampling.Row, d *sampling.Decision) { d.Open = append(d.Open, eligible(r)[0]) }

// uniformly opens one masked position chosen by the host's noise.
func uniformly(r *sampling.Row, d *sampling.Decision) {
	best := int32(-1)
	for _, i := range eligible(r) {
		if best < 0 || r.Uniform[i] < r.Uniform[best] {
			best = i
		}
	}
	d.Open = append(d.Open, best)
}
