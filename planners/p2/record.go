package p2

import (
	"errors"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// record is what RDM's condition "cond" remembers of a row: the log-probability that each position's token had when it
// was written, 0 where it was there from the start (Zheng et al. 2023; section 3.10 of the sheet p2.md).
type record struct {
	at []float64 // [n]
}

// begin sets a row up in its first step. A later step without a past is that of a row whose record died with its planner.
func (m *record) begin(r sdk.Row) error {
	if m.at == nil && r.Step > 0 {
		return errors.New("condition cond: expected the log-probabilities of the row's tokens, which were lost when the planner was started anew; run again, with --out to keep the finished rows")
	}
	if m.at == nil {
		m.at = make([]float64, len(r.Flags))
	}
	return nil
}

// falls tells whether a written position that is among the worst is masked again: its redrawn token repeats the present
// one and is less probable than it was.
func (m *record) falls(r sdk.Row, i int) bool {
	return r.Proposal[i] == r.Token[i] && float64(r.LogpProposal[i]) < m.at[i]
}

// note remembers the tokens that are written now.
func (m *record) note(r sdk.Row, open sdk.Positions) {
	for _, i := range open.Indices() {
		m.at[i] = float64(r.LogpProposal[i])
	}
}
