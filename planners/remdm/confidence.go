package remdm

import (
	"math"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// confidence keeps the probability that each token had when it was written, and shares sigma among the written positions
// by it (ReMDM-conf): the less sure, the more.
type confidence struct {
	rows   sdk.RowMemory[[]float64] // by absolute position; a token that came with the row counts as certain
	weight []float64                // [n]
}

// psi returns the row's probabilities, one per position of its window.
func (c *confidence) psi(r sdk.Row) []float64 {
	all := c.rows.Of(r)
	for len(*all) < r.Offset+len(r.Flags) {
		*all = append(*all, 1)
	}
	return (*all)[r.Offset:]
}

// weights returns softmax(-psi) over the written positions.
func (c *confidence) weights(r sdk.Row, written sdk.Positions) func(i int) float64 {
	psi, sum := c.psi(r), 0.0
	for len(c.weight) < len(r.Flags) {
		c.weight = append(c.weight, 0)
	}
	for _, i := range written.Indices() { // probabilities: the exponentials need no shift
		c.weight[i] = math.Exp(-psi[i])
		sum += c.weight[i]
	}
	return func(i int) float64 { return c.weight[i] / sum }
}

// remember notes what is written now.
func (c *confidence) remember(r sdk.Row, open sdk.Positions) {
	psi := c.psi(r)
	for _, i := range open.Indices() {
		psi[i] = math.Exp(float64(r.LogpProposal[i]))
	}
}
