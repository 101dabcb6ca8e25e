package sdk

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Row is one row of a step: the fields of [sampling.Row] and verbs on them. It is valid during the call only.
type Row struct {
	*sampling.Row
	mem *memory
}

// NewRow wraps a row, so that a [PlanRow] can be called from a test.
func NewRow(row *sampling.Row) Row { return Row{Row: row, mem: &memory{}} }

// Eligible returns the masked positions that may be opened in this step, in ascending order.
func (r Row) Eligible() Positions { return r.having(sampling.Eligible, sampling.Eligible) }

// Masked returns all masked positions of the window, eligible or not.
func (r Row) Masked() Positions { return r.having(sampling.Masked, sampling.Masked) }

// Written returns the positions that hold a token and are not fixed: those that may be masked again or overwritten.
func (r Row) Written() Positions { return r.having(sampling.Masked|sampling.Fixed, 0) }

// having returns the positions whose flags under the mask equal want.
func (r Row) having(mask, want sampling.Flags) Positions {
	at := r.mem.positions.take(len(r.Flags))
	for i, f := range r.Flags {
		if f&mask == want {
			at = append(at, int32(i))
		}
	}
	return Positions{at: at, mem: r.mem}
}

// At returns the positions that are listed, in the order given.
func (r Row) At(positions ...int) Positions {
	at := r.mem.positions.take(len(positions))
	for _, i := range positions {
		at = append(at, int32(i))
	}
	return Positions{at: at, mem: r.mem}
}

// LogitsAt returns the logits [V] of position i. It panics where they were not asked for, by the need [Logits].
func (r Row) LogitsAt(i int) []float32 {
	if r.V == 0 {
		panic("LogitsAt: the row has no logits; declare sdk.Logits in sdk.Needs")
	}
	return r.Logits[i*r.V : (i+1)*r.V]
}

// TopAt returns the most probable tokens of position i with their log-probabilities, both [K], most probable first. K is at least what
// was asked for. Where fewer tokens can be, the last ids are -1. It panics where they were not asked for, by the need [TopK].
func (r Row) TopAt(i int) (ids []int32, logp []float32) {
	if r.K == 0 {
		panic("TopAt: the row has no most probable tokens; declare sdk.TopK(k) in sdk.Needs")
	}
	return r.TopIDs[i*r.K : (i+1)*r.K], r.TopLogp[i*r.K : (i+1)*r.K]
}

// Nothing is the decision that changes nothing.
func (r Row) Nothing() Decision { return Decision{} }

// Open writes the host's proposals at masked positions.
func (r Row) Open(ps Positions) Decision { return Decision{}.Open(ps) }

// Remask masks written positions again.
func (r Row) Remask(ps Positions) Decision { return Decision{}.Remask(ps) }

// Overwrite puts a token of the planner's choice at a position.
func (r Row) Overwrite(position int, token int32) Decision {
	return Decision{}.Overwrite(position, token)
}

// Fill opens every eligible position at once.
func (r Row) Fill(f sampling.Fill) Decision { return Decision{}.Fill(f) }

// Done finishes the row, even with masks left.
func (r Row) Done() Decision { return Decision{}.Done() }

// Fail makes the run end with err, which is reported with the planner's name and the row.
func (r Row) Fail(err error) Decision {
	r.mem.fail(err)
	return Decision{}
}

// GumbelOf turns uniform noise in (0, 1) into standard Gumbel noise, -ln(-ln u): for planners that draw more than the one number
// per position that the host gives.
func GumbelOf(u float64) float64 { return -math.Log(-math.Log(u)) }
