package evaluate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// TopK is P2's top-k sampler with self-planning, which keeps one position more a step and masks the others again (sheet papl, 3.2): the k
// positions with the largest eta D^i(z^i | x) where masked and D-hat^i(x^i | x) where written, the lower position on ties.
type TopK struct {
	Denoiser Network
	Eta      float64 // above 0
}

// Exact is the bound on -log p of the top-k sampler: one path, that of the choice with z = x0, of L calls. The positions that are not
// kept lose independently of each other, so that the F of proposition A.12 is a product, and E1 + E2 is exact:
//
//	E1 = sum_k sum over masked kept i of log D^i(x0^i | Y_k)    E2 = sum_k sum over masked others of log P(its proposal loses)
//
// The corollary is A.13, where every other masked position proposes its true token.
func (p *TopK) Exact(s *Sequence) (PELBOTerms, error) {
	var t PELBOTerms
	if !(p.Eta > 0) || math.IsInf(p.Eta, 1) {
		return t, fmt.Errorf("top-k: eta is %v; expected a finite number above 0", p.Eta)
	}
	if err := s.check(); err != nil {
		return t, err
	}
	L := len(s.Free)
	masked, score := slices.Repeat([]bool{true}, L), make([]float64, L)
	for k := 1; k <= L; k++ {
		answer, err := s.ask(p.Denoiser, [][]int64{s.state(masked)})
		if err != nil {
			return t, err
		}
		lp, lift := answer[0], math.Log(p.Eta)
		for j := range score {
			if score[j] = s.truth(lp, j); masked[j] {
				score[j] += lift
			}
			if math.IsNaN(score[j]) {
				return t, errors.New("network: a log-probability is NaN; expected a number")
			}
		}
		kept, worst := best(score, k)
		for j := range score {
			switch {
			case masked[j] && kept[j]:
				t.E1 += s.truth(lp, j)
			case masked[j]:
				t.E2 += loses(lp[j], score[worst]-lift, j > worst)
			}
			if masked[j] {
				t.Corollary += s.truth(lp, j)
			}
		}
		for j := range masked {
			masked[j] = !kept[j]
		}
	}
	return t, nil
}

// best are the k largest scores, the lower index on ties, and the index of the last of them.
func best(score []float64, k int) (kept []bool, worst int) {
	kept = make([]bool, len(score))
	for range k {
		worst = -1
		for j, x := range score {
			if !kept[j] && (worst < 0 || x > score[worst]) {
				worst = j
			}
		}
		kept[worst] = true
	}
	return kept, worst
}
