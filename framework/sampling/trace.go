package sampling

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// The versions of the trace format; readers refuse newer ones. Fields and events may be added without a new version: readers
// leave out what they do not know. Rows that grow are beyond that: who does not know of insertions would replay them wrongly, so
// that traces of insertion models, and only those, are of their own version. They say how rows grow and which token is the mask.
const (
	TraceVersion        = 1 // rows keep their length
	TraceGrowingVersion = 2 // rows grow
)

// TraceHeader is the first line of a trace. Traces of early hosts end after Options.
type TraceHeader struct {
	Trace   int    `json:"trace"` // TraceVersion or TraceGrowingVersion
	Seed    uint64 `json:"seed"`
	Model   string `json:"model"`
	Sampler string `json:"sampler"`
	Planner string `json:"planner"`
	Options any    `json:"options,omitempty"` // of the planner

	SamplerOptions any        `json:"sampler_options,omitempty"`
	Provider       string     `json:"provider,omitempty"` // what really ran, such as "onnx/cpu, 2 threads"
	Rows           int        `json:"rows,omitempty"`     // of the run
	MaskID         *int32     `json:"mask_id,omitempty"`
	Grid           *TraceGrid `json:"grid,omitempty"`
	LogpOn         string     `json:"logp_on,omitempty"`    // "model", "tempered" or "sampling": the distribution of logp
	EntropyOn      string     `json:"entropy_on,omitempty"` // and of the entropies

	Growth *Growth `json:"growth,omitempty"` // of insertion models

	Digests map[string]string `json:"digests,omitempty"` // of the model and its parts, by what they are

	Sampling map[string]string `json:"sampling,omitempty"` // of recordings: the settings of that section, by their keys
}

// TraceGrid says that the positions of a row are the cells of a rectangle, row by row.
type TraceGrid struct {
	Rows int   `json:"rows"`
	Cols int   `json:"cols"`
	Box  []int `json:"box,omitempty"` // rows and columns of a box, such as [3, 3]
}

// The events of a trace.
const (
	TraceRow     = "row"      // a row was admitted
	TraceStep    = "step"     // one step of a row
	TraceEnd     = "end"      // a row's result
	TraceTokens  = "tokens"   // how tokens read that are met from here on
	TraceLeftOut = "left_out" // the last line of a trace that reached its size: so many rows are not in it

	TraceStart = "start" // recorded runs: how the planner was started, as messages of the plugin protocol
	TracePlan  = "plan"  // recorded runs: one question to the planner and its answer
)

// TraceCall is a line of a recorded run, of event [TraceStart] or [TracePlan]. Question and Answer are encoded messages of the plugin
// protocol (mdmhost.v1): StartRequest and StartReply, or Step and PlanReply; logits stand in the message. They let a planner be asked
// the same again without a model.
type TraceCall struct {
	Event    string `json:"event"`
	Planner  string `json:"planner,omitempty"` // start: who answered
	Question []byte `json:"question"`
	Answer   []byte `json:"answer"`
}

// TraceEvent is one further line. A step writes and masks first, then positions leave, then masks come: the positions of opened,
// remasked, guess and deleted are those of the row before the step, the gaps of inserted those of the row without the deleted.
type TraceEvent struct {
	Event    string             `json:"event"`
	Row      int64              `json:"row"`
	Step     int                `json:"step"`
	NFE      int                `json:"nfe"`
	Tokens   []int32            `json:"tokens,omitempty"`   // row: the canvas at the start; end: the result
	Free     []int32            `json:"free,omitempty"`     // row: positions that hold a token and may be revised
	Opened   [][2]int32         `json:"opened,omitempty"`   // [position, token]; a position that held a token is overwritten
	Remasked []int32            `json:"remasked,omitempty"` // positions
	Deleted  []int32            `json:"deleted,omitempty"`  // positions that left the row; nothing else is said of them in their step
	Inserted [][2]int32         `json:"inserted,omitempty"` // [gap, masks]; gap g lies before position g, the last behind the last
	Capped   int                `json:"capped,omitempty"`   // end: steps whose insertions the cap on the row's length refused
	Metrics  map[string]float64 `json:"metrics,omitempty"`
	Finish   Finish             `json:"finish,omitempty"`
	Error    string             `json:"error,omitempty"`

	Logp      Nats       `json:"logp,omitempty"`      // step: log-probability of each opened token, null where unknown
	Entropies Nats       `json:"entropies,omitempty"` // step: entropy at each opened position
	Entropy   *float64   `json:"entropy,omitempty"`   // step: the mean over masked positions, before anything was opened
	Guess     [][2]int32 `json:"guess,omitempty"`     // step: proposals at positions that stay masked, where they changed

	Pieces  map[int32]string `json:"pieces,omitempty"`  // tokens: the text of each within a row
	Special []int32          `json:"special,omitempty"` // tokens: those of them that are no text
	Count   int              `json:"count,omitempty"`   // left_out: rows
}

// Nats are numbers that may be missing: NaN, written as null. Five digits are kept.
type Nats []float32

// MarshalJSON implements [json.Marshaler].
func (n Nats) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, float64(x), 'g', 5, 32)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Nats) UnmarshalJSON(text []byte) error {
	var all []*float32
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("expected a list of numbers and nulls: %w", err)
	}
	*n = make(Nats, len(all))
	for i, x := range all {
		if (*n)[i] = float32(math.NaN()); x != nil {
			(*n)[i] = *x
		}
	}
	return nil
}
