package p2

import (
	"errors"
	"fmt"
	"math"
)

// scores gives every free position its place in the order: the higher, the sooner it is kept (P2, eq. 7).
type scores struct {
	eta  float64 // stochasticity strength: more remasks more, 0 never remasks
	lift float64 // log eta in paper mode, added to masked positions
	pow  float64 // eta in code mode, the exponent of written positions
}

// mode returns the scores of an eta mode. "code" multiplies the log-probability of written tokens by eta; "paper"
// multiplies the probability at masked positions. They agree at eta = 1 and differ elsewhere.
func mode(name string, eta float64) (scores, error) {
	switch {
	case math.IsInf(eta, 1):
		return scores{}, errors.New("eta inf: expected a finite number; 1 is the default, 0 never masks again")
	case name == "code":
		return scores{eta: eta, pow: eta}, nil
	case name == "paper":
		return scores{eta: eta, lift: math.Log(eta), pow: 1}, nil
	}
	return scores{}, fmt.Errorf("eta_mode %q: expected code or paper; set planner.eta_mode to one of them", name)
}

// fresh scores a masked position by the log-probability of its proposal.
func (s scores) fresh(logp float32) float64 {
	if s.eta == 0 {
		return float64(logp) // its group comes after every written position
	}
	return float64(logp) + s.lift
}

// written scores a written position by the log-probability, now, of the token that it holds.
func (s scores) written(logp float32) float64 {
	if s.eta == 0 {
		return math.Inf(1)
	}
	return float64(logp) * s.pow
}
