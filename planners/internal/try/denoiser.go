package try

import (
	"context"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Denoiser serves logits of a Go function through the Go form of the statistics, kl_prev included.
type Denoiser struct {
	V      int                                 // tokens, the last of which is the mask
	Logits func(tokens []int64, out []float32) // [L] -> [L, V], for one row without padding
	head   sampling.Head
	batch  sampling.Batch
	stats  sampling.Statistics
	before map[int32][]float64 // by slot: [L, V] probabilities of the row's pass before
	logits []float32           // [B, L, V]
}

// Capabilities implements [sampling.Denoiser].
func (d *Denoiser) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{
		Serves: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true,
			KLPrev: true, TopK: d.V, Logits: true},
		VocabDots: 8, State: true, Padding: true, V: d.V, Runtime: "go", Provider: "cpu",
	}
}

// Configure implements [sampling.Denoiser].
func (d *Denoiser) Configure(_ context.Context, h sampling.Head) error {
	d.head, d.before = h, map[int32][]float64{}
	return nil
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l), Time: make([]float32, b)}
	return &d.batch, nil
}

// Run implements [sampling.Denoiser].
func (d *Denoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, l := d.batch.B, d.batch.L
	d.logits = make([]float32, b*l*d.V)
	for i := range b {
		n := 0
		for n < l && d.batch.Attention[i*l+n] == 1 {
			n++
		}
		d.Logits(d.batch.Tokens[i*l:i*l+n], d.logits[i*l*d.V:(i*l+n)*d.V])
	}
	if err := sampling.Compute(d.logits, d.V, &d.batch, d.head, &d.stats); err != nil {
		return nil, err
	}
	if d.head.Needs.KLPrev {
		d.remember()
	}
	return &d.stats, nil
}

// remember computes kl_prev and keeps the probabilities for the next pass.
func (d *Denoiser) remember() {
	b, l, v := d.batch.B, d.batch.L, d.V
	d.stats.KLPrev = make([]float32, b*l)
	for i := range b {
		p, old := make([]float64, l*v), d.before[d.batch.Slots[i]]
		for j := range l {
			softmax(p[j*v:(j+1)*v-1], d.logits[(i*l+j)*v:(i*l+j+1)*v-1])
			kl := math.Inf(1)
			if d.batch.Fresh[i] == 0 && len(old) >= (j+1)*v {
				kl = 0
				for k, x := range p[j*v : (j+1)*v] {
					kl += x * (math.Log(x+1e-12) - math.Log(old[j*v+k]+1e-12))
				}
			}
			d.stats.KLPrev[i*l+j] = float32(kl)
		}
		d.before[d.batch.Slots[i]] = p
	}
}

func softmax(p []float64, z []float32) {
	top, sum := math.Inf(-1), 0.0
	for _, x := range z {
		top = max(top, float64(x))
	}
	for i, x := range z {
		p[i] = math.Exp(float64(x) - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
}

// Close implements [sampling.Denoiser].
func (d *Denoiser) Close() error { return nil }
