package sampling

import (
	"context"
	"time"
)

// Finish says why a row ended.
type Finish string

// How a row can end.
const (
	FinishComplete  Finish = "complete"  // no mask is left
	FinishStop      Finish = "stop"      // the planner or a stop rule ended it
	FinishSteps     Finish = "steps"     // the cap on steps or passes was reached and the rest of a block or of the row opened at once
	FinishLength    Finish = "length"    // all is written, but the cap on the row's length refused insertions of an insertion model
	FinishCancelled Finish = "cancelled" // the run was interrupted
	FinishError     Finish = "error"     // the row failed; Err says why
)

// Request is one row to sample.
type Request struct {
	Index  int64   // number of the row in the run, different for every row of it; keys its random streams unless Noise says otherwise
	Tokens []int32 // [L] without padding, mask id = blank
	Fixed  []bool  // [L] or nil: everything that is not the mask is fixed
	Steps  int     // 0 = one per blank; blocks share them
	Params Params

	// Noise keys the row's random streams in place of the run's seed and Index: the row is then the one that a run of that seed draws
	// under that number. Planners and samplers never see either, only the noise.
	Noise *NoiseKey
	// Context ends the row alone, as cancelled, before its next forward pass; nil never does.
	Context context.Context

	FrozenGap []bool // [L+1] of insertion models: gaps that never grow; nil freezes none
	Cap       int    // most positions of a row of an insertion model; 0 = Growth.Cap
}

// name is the row's number for messages: the one that whoever asked for it knows.
func (r *Request) name() int64 {
	if r.Noise != nil {
		return r.Noise.Row
	}
	return r.Index
}

// NoiseKey is what the random streams of a row follow from.
type NoiseKey struct {
	Seed uint64
	Row  int64
}

// Result is one finished row.
type Result struct {
	Index   int64
	Tokens  []int32 // [L] the whole row, special and fixed tokens included, padding not, up to where a stop rule cut it
	Finish  Finish
	NFE     int    // forward passes in which the row took part; with guidance two at a time, one of them without its prompt
	Partial int    // those of them that ran a window of positions alone
	Until   int    // passes until its stop rule was met, NFE where it was not
	Steps   int    // steps used, empty ones included
	Opened  int    // positions that were blank at the start, or inserted, and are written now
	Revised int    // positions masked again or overwritten on the way
	Beyond  string // with a stop phrase: what the last token's text holds behind it, no part of the answer
	Elapsed time.Duration
	StepMap []int32   // [L] step at which the position was opened last, -1 where it was given
	Born    []int32   // [L] step at which the position was inserted, -1 where it was there from the start; nil where rows do not grow
	Capped  int       // steps whose insertions the cap on the row's length refused
	Logp    []float32 // [L] log-probability of the token when it was opened (NaN where the planner did not need it), 0 where given
	Err     error     // with FinishError
}

// Frame is the state of one row after one step, for screens and traces. The slices belong to the session and are valid
// during the call only.
type Frame struct {
	Index       int64
	Slot        int
	Step, Steps int // the step that was just done, from 0
	NFE         int
	Tokens      []int32 // [L]
	Flags       []Flags // [L]
	Guess       []int32 // [n] proposals of this step for positions GuessAt and on of the row before it, -1 where none; nil before the first step
	GuessAt     int
	Entropy     []float32 // [n] nats of this step's pass, laid out like Guess; nil where nobody asked for it
	Logp        []float32 // [L] log-probability of each written token when it was opened, NaN where nobody asked for it
	Opened      []int32   // absolute positions written by this step, overwritten ones too
	Remasked    []int32
	// Inserted and Deleted came after that, in this order: positions that left, of the row before, and new masks, by the gaps of
	// the row without those that left. Opened and Remasked are positions of the row before; Tokens, Flags and Logp are of the row after.
	Deleted  []int32
	Inserted []Insertion
	Metrics  map[string]float64
}

// Observer watches a run. Calls come from the goroutine of the step loop and must return quickly.
type Observer interface {
	Admitted(Frame)
	Stepped(Frame)
	Finished(Result)
}

// Accounts says where the time of a run went; it only grows.
type Accounts struct {
	Rows, Tokens int           // finished rows, positions opened in them
	Passes       int           // forward passes of the batch
	Partial      int           // those of them that ran windows of positions alone
	RowPasses    int           // sum over rows of the forward passes they took part in: the NFE of all rows
	Until        int           // sum over finished rows of the passes until their stop rule was met
	ScorePasses  int           // calls of the planner's own network
	Steps        int           // row steps, empty ones included
	Denoise      time.Duration // in the runtime
	Score        time.Duration // in the planner's own network
	Plan         time.Duration // in planner calls, transport included
	PlanCalls    int           // planner calls; 0 where the sampler decides by itself
	Wall         time.Duration
}
