package try

import (
	"math"
	"slices"
)

// leaveOut computes logp_leave_one_out: each written position is asked with a mask in its place.
func (d *Denoiser) leaveOut() {
	b, l, v := d.batch.B, d.batch.L, d.V
	d.stats.LogpLeaveOneOut = make([]float32, b*l)
	for i := range b {
		n := 0
		for n < l && d.batch.Attention[i*l+n] == 1 {
			n++
		}
		row, logits := slices.Clone(d.batch.Tokens[i*l:i*l+n]), make([]float32, n*v)
		for j, token := range row {
			if token == int64(v-1) {
				continue
			}
			row[j] = int64(v - 1)
			d.Logits(row, logits)
			row[j] = token
			d.stats.LogpLeaveOneOut[i*l+j] = float32(logp(logits[j*v:(j+1)*v-1], int(token)))
		}
	}
}

// logp is the log-probability of a token under logits, whose mask is left out.
func logp(z []float32, token int) float64 {
	top, sum := float64(slices.Max(z)), 0.0
	for _, x := range z {
		sum += math.Exp(float64(x) - top)
	}
	return float64(z[token]) - top - math.Log(sum)
}
