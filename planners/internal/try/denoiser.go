package try

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Denoiser serves logits of a Go function through the Go form of the statistics, kl_prev and leave-one-out included.
type Denoiser struct {
	V      int                                               // tokens, the last of which is the mask
	Logits func(tokens []int64, out []float32)               // [L] -> [L, V], for one row without padding
	Timed  func(time float64, tokens []int64, out []float32) // instead of Logits: of a model that is told the time
	head   sampling.Head
	batch  sampling.Batch
	stats  sampling.Statistics
	memory sampling.Memory
	logits []float32 // [B, L, V]
}

// Capabilities implements [sampling.Denoiser].
func (d *Denoiser) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{
		Serves: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true,
			KLPrev: true, LogpLeaveOneOut: true, TopK: d.V, Logits: true},
		VocabDots: 8, State: true, Padding: true, V: d.V, Runtime: "go", Provider: "cpu",
	}
}

// Configure implements [sampling.Denoiser].
func (d *Denoiser) Configure(_ context.Context, h sampling.Head) error {
	d.head, d.memory = h, sampling.Memory{}
	return nil
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l)}
	if d.Timed != nil {
		d.batch.Time = make([]float32, b)
	}
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
		if row, out := d.batch.Tokens[i*l:i*l+n], d.logits[i*l*d.V:(i*l+n)*d.V]; d.Timed != nil {
			d.Timed(float64(d.batch.Time[i]), row, out)
		} else {
			d.Logits(row, out)
		}
	}
	if err := d.memory.Compute(d.logits, d.V, &d.batch, d.head, &d.stats); err != nil {
		return nil, err
	}
	if d.head.Needs.LogpLeaveOneOut {
		d.leaveOut()
	}
	return &d.stats, nil
}

// Close implements [sampling.Denoiser].
func (d *Denoiser) Close() error { return nil }
