package sampling

import (
	"context"
	"slices"
	"strings"
)

// Kind says what a plugin is.
type Kind string

// The kinds of plugins of protocol version 1.
const (
	KindPlanner Kind = "planner"
	KindSampler Kind = "sampler"
	KindTrainer Kind = "trainer"
)

// Kinds are all of them, in the order in which a program that does not say what it is is tried.
var Kinds = []Kind{KindPlanner, KindSampler, KindTrainer}

// Description is what a plugin says of itself before any run.
type Description struct {
	Kind          Kind
	Name, Version string
	Summary       string // one line for lists
	Needs         Needs  // the largest set that any options can ask for
	OptionsSchema string // JSON Schema of the options object; properties carry type, default, description, enum, minimum, maximum
	CanRemask     bool
	CanInsert     bool
	Adaptive      bool // steps are only a cap
}

// Capabilities is what the runtime and the run offer to a plugin.
type Capabilities struct {
	Serves      Needs // statistics that the runtime can compute (TopK: the largest K; VocabDot: nil, see VocabDots)
	VocabDots   int   // how many vectors may be given
	State       bool  // statistics with memory (kl_prev)
	MaxRows     int   // largest batch
	FixedRows   int   // 0, or the batch that the model was exported with
	MaxLength   int   // 0, or the longest row
	FixedLength int   // 0, or the length that the model was exported with
	Padding     bool  // rows of different lengths may share a batch (the model takes an attention mask)
	V           int   // width of the logits
	Runtime     string
	Provider    string // the provider that runs, such as "cpu"
}

// Missing returns the names of what needs asks for and the runtime cannot serve. Noise is the host's and always there.
func (c *Capabilities) Missing(needs Needs) []string {
	name := func(s string) string {
		s, _, _ = strings.Cut(s, "(")
		return s
	}
	served := map[string]bool{"uniform": true, "gumbel": true, "kl_prev": c.State && c.Serves.KLPrev, "vocab_dot": len(needs.VocabDot) <= c.VocabDots}
	for _, s := range c.Serves.List() {
		served[name(s)] = name(s) != "kl_prev" || c.State
	}
	served["topk"] = needs.TopK <= c.Serves.TopK
	return slices.DeleteFunc(needs.List(), func(s string) bool { return served[name(s)] })
}

// Run is what a plugin learns when a run starts.
type Run struct {
	ID           string
	Options      []byte // JSON object, checked against OptionsSchema
	Capabilities Capabilities
	MaskID       int32
	V            int // tokens that may be written have ids below V
	Temperature  float64
	// KeepsWritten tells that the run's planner described itself without can_remask, so that written positions stay as they
	// are and have no statistics. Hosts from before this field leave it false: a plugin that revises by itself must still be
	// ready to find no proposal at a written position.
	KeepsWritten bool
	Insertion    *Growth   // of insertion models, else nil
	Exponents    []float32 // [V] GenMD4's speed w of every token: u_t = t^w; nil where the model has none
}

// Growth says how the rows of an insertion model grow. Rates are multipliers per unit of the clock U(t) = -log(1 - t^a), where t runs
// from 0, the empty row, to 1 (methods/loflexmdm.md, section 4.2); T and S of a step are 1 - t, as everywhere.
type Growth struct {
	Gap string  `json:"gap"` // GapTail or GapEOS
	Cap int     `json:"cap"` // most positions of a row, special tokens included; 0 where every row has a cap of its own
	A   float64 `json:"a"`   // of the clock
}

// Which gaps of a row of n positions may grow, as mdm.json says.
const (
	GapTail = "n+1" // all n+1, that behind the last position too
	GapEOS  = "eos" // a fixed token ends the row, and the gap behind it never grows
)

// Planner decides which positions a step opens or masks again. Plan writes one decision per row of step into out
// (already reset, len(out) == len(step.Rows)). Plan must depend on nothing but its step, its run and what it keeps per
// row; it is never called from two goroutines at once.
type Planner interface {
	Describe(ctx context.Context) (Description, error)
	Start(ctx context.Context, run Run) (Needs, error)
	Plan(ctx context.Context, step *Step, out []Decision) error
	End(ctx context.Context) error
}

// RowState is what a sampler knows of a row that it drives. Rows that are opened block by block look like the active block:
// its time runs from 1 to 0 and its steps from 0.
type RowState struct {
	Slot   int
	Index  int64
	Step   int     // steps done
	Steps  int     // steps allowed
	Blanks int     // positions that were blank at the start
	Masked int     // positions that are masked now
	Length int     // of the whole row
	Room   int     // insertion models: positions that the row may still grow by
	NextT  float64 // 0, or the time that the planner asked the row to go on from
	Done   bool
}

// Advance is one step of one row: the sampler chooses the times, the planner the positions.
type Advance struct {
	Slot           int
	T, S           float64
	AlphaT, AlphaS float64
	// Ahead are the times at which further steps end, in order: the one after this goes from S to Ahead[0]. With them
	// the host goes on by itself, so that a step costs the sampler no call, and a step after one that changed nothing may
	// cost no forward pass. Give all that the row (or its block) has left or none: what is saved must not depend on when
	// the other rows of the batch came back.
	Ahead []Time
	// Trial are tokens, by position of the whole row, that the pass of a Denoise finds written beside those of the row, whose
	// canvas stays as it is. In a Denoise where some row has a trial a slot may be named several times, so that candidates
	// are weighed side by side; the step has the rows in the order given, in several passes where the batch is too large.
	// Such a Denoise is for reading alone: the Plan or Apply that follows belongs to the Denoise before it. A row whose
	// logits cannot be used in a trial is left out of the step, and ends with the Apply that follows. Every trial counts as
	// one forward pass of its row, whose bound (max_nfe) is looked at between steps; it has the row's own noise, and
	// statistics with memory (kl_prev, CreditDecoding's) begin anew in it.
	Trial []Write
}

// Time is a point of the trajectory.
type Time struct{ T, Alpha float64 }

// Session is what the host offers to a sampler. A slot is valid from Admit until Emit.
type Session interface {
	// Admit fills free slots with waiting rows and returns them. No rows while slots are in use is fine; no rows and no
	// slot in use means that the run is over.
	Admit(ctx context.Context) ([]RowState, error)
	// Advance runs one forward pass over the rows, has the planner decide, applies and returns the rows after the step.
	// Statistics stay in the host. Rows with nothing to open run no forward pass, unless their planner asked to go on.
	// A row whose step changed nothing takes the next one of its look-ahead at once, with fresh noise, where another pass
	// would give the same statistics (a model without times, no draws or memory that the planner looks at). Where all rows
	// look ahead, it takes further steps until one is done or begins another block, has no time ahead any more, or its
	// planner asked for another time.
	Advance(ctx context.Context, rows []Advance) ([]RowState, error)
	// Denoise runs one forward pass and returns the statistics that the sampler declared in Start.
	Denoise(ctx context.Context, rows []Advance) (*Step, error)
	// Plan asks the planner about the statistics of the last Denoise.
	Plan(ctx context.Context) ([]Decision, error)
	// Apply applies the sampler's own decisions, one per row of the last Denoise.
	Apply(ctx context.Context, decisions []Decision) ([]RowState, error)
	// Emit hands finished rows over and frees their slots.
	Emit(ctx context.Context, slots []int) error
}

// Sampler owns the trajectory: which rows step when, at which times, with how many forward passes.
type Sampler interface {
	Describe(ctx context.Context) (Description, error)
	Start(ctx context.Context, run Run) (Needs, error)
	// Sample drives the session until no rows are left.
	Sample(ctx context.Context, session Session) error
	End(ctx context.Context) error
}
