package evaluate

import (
	"fmt"
	"math"
	"slices"
)

// Network returns log-probabilities [B][N][V] of the V tokens at the N positions of a batch of sequences x [B][N]: log D^i(v | x) of
// a denoiser at masked positions, log D-hat^i at written ones; log B^i(v | z) of a masked language model. Rows of positions that a
// [Sequence] does not write are not read, and may be nil. Tokens that cannot be written have -Inf.
type Network func(x [][]int64) ([][][]float64, error)

// Sequence is x0 with the positions that a sampler writes; the others are given, so that bounds are conditional on them.
type Sequence struct {
	X0   []int64 // [N] true tokens
	Free []int   // [L] positions that are written, ascending
	Mask int64
}

// check refuses positions outside the sequence, or out of order.
func (s *Sequence) check() error {
	for j, i := range s.Free {
		if i < 0 || i >= len(s.X0) || j > 0 && i <= s.Free[j-1] {
			return fmt.Errorf("sequence: free position %d: expected ascending positions from 0 to %d", i, len(s.X0)-1)
		}
	}
	return nil
}

// state is x0 with the free positions masked that masked [L] says.
func (s *Sequence) state(masked []bool) []int64 {
	x := slices.Clone(s.X0)
	for j, m := range masked {
		if m {
			x[s.Free[j]] = s.Mask
		}
	}
	return x
}

// free are the rows [L][V] of the free positions of one answer [N][V] of a network.
func (s *Sequence) free(lp [][]float64) ([][]float64, error) {
	out := make([][]float64, len(s.Free))
	for j, i := range s.Free {
		if i >= len(lp) || s.X0[i] < 0 || s.X0[i] >= int64(len(lp[i])) {
			return nil, fmt.Errorf("sequence: no log-probability of token %d at position %d: expected [%d, V] with every true token below V", s.X0[i], i, len(s.X0))
		}
		out[j] = lp[i]
	}
	return out, nil
}

// ask runs a network on one state after the other of a batch and picks the free rows: [B][L][V].
func (s *Sequence) ask(n Network, x [][]int64) ([][][]float64, error) {
	answers, err := n(x)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(x) {
		return nil, fmt.Errorf("network: %d answers for %d sequences; expected as many", len(answers), len(x))
	}
	out := make([][][]float64, len(x))
	for b := range x {
		if out[b], err = s.free(answers[b]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// truth is log-probability j of the true token.
func (s *Sequence) truth(lp [][]float64, j int) float64 { return lp[j][s.X0[s.Free[j]]] }

// places are the indices j of the free positions that are masked, or that are not.
func places(masked []bool, want bool) (out []int) {
	for j, m := range masked {
		if m == want {
			out = append(out, j)
		}
	}
	return out
}

// draw is a token of the distribution whose log-probabilities are lp [V], by the inverse of its cumulative sum at u in (0, 1).
func draw(lp []float64, u float64) int64 {
	sum, last := 0.0, 0
	for v, x := range lp {
		if math.IsInf(x, -1) {
			continue
		}
		if sum, last = sum+math.Exp(x), v; u < sum {
			break
		}
	}
	return int64(last)
}
