// Package certainty measures how sure the model is of a position: what planners order positions by, and what they hold
// against thresholds. Public samplers mean different things by "confidence"; here each has a name.
package certainty

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Measure is one of
//
//	max      p1, the largest probability (EB-Sampler, eq. 1)
//	drawn    the probability of the drawn token (LLaDA, Dream); equal to max at temperature 0
//	margin   p1 - p2
//	entropy  -H, nats
//
// of the model's distribution, the tempered one or the one that tokens are drawn from. Larger is surer.
type Measure struct {
	name  string
	on    sampling.On
	score []float64 // [n] reused from row to row
}

// New returns the measure of that name on the distribution "model" (before temperature), "tempered" (after temperature,
// before truncation; not for entropy, which the host takes of the other two) or "sampling" (after both). At temperature 0 all
// are the model's.
func New(name, on string) (*Measure, error) {
	m := &Measure{name: name}
	switch {
	case on == "model":
		m.on = sampling.OnModel
	case on == "sampling":
		m.on = sampling.OnSampling
	case on == "tempered" && name != "entropy":
		m.on = sampling.OnTempered
	case on == "tempered":
		return nil, fmt.Errorf("%s on tempered: expected model or sampling, which the host takes entropies of; set on to one of them", name)
	default:
		return nil, fmt.Errorf("%s on %s: expected the distribution model, tempered or sampling; set on to one of them", name, on)
	}
	return m, nil
}

// Margin is the measure margin of the model's distribution.
func Margin() *Measure { return &Measure{name: "margin", on: sampling.OnModel} }

// Needs returns the statistics that the measure reads.
func (m *Measure) Needs() (n sampling.Needs) {
	switch m.name {
	case "drawn":
		n.LogpProposal = m.on
	case "entropy":
		n.Entropy = m.on
	case "margin":
		n.P1, n.P2, n.PeaksOn = true, true, m.on
	default:
		n.P1, n.PeaksOn = true, m.on
	}
	return n
}

// NeedsOf is [Measure.Needs] of the measure of that name; options that [New] refuses need nothing.
func NeedsOf(name, on string) sampling.Needs {
	m, err := New(name, on)
	if err != nil {
		return sampling.Needs{}
	}
	return m.Needs()
}

// Of returns the row's measures [n], valid until the next call.
func (m *Measure) Of(r sdk.Row) []float64 {
	m.score = m.score[:0]
	switch m.name {
	case "drawn":
		for _, x := range r.LogpProposal {
			m.score = append(m.score, math.Exp(float64(x)))
		}
	case "entropy":
		for _, x := range r.Entropy {
			m.score = append(m.score, -float64(x))
		}
	case "margin":
		for i, x := range r.P1 {
			m.score = append(m.score, float64(x)-float64(r.P2[i]))
		}
	default:
		for _, x := range r.P1 {
			m.score = append(m.score, float64(x))
		}
	}
	return m.score
}
