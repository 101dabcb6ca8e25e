package sampling

import "context"

// Draw says how proposals are drawn at temperatures above 0.
type Draw uint8

const (
	// DrawInverseCDF takes the smallest token whose cumulative probability exceeds one uniform per position.
	DrawInverseCDF Draw = iota
	// DrawGumbel takes argmax(logits/T + Gumbel noise), with V-wide noise from the host: for comparisons with references.
	DrawGumbel
)

// Head says what the statistics head computes; it is fixed for a run.
type Head struct {
	Needs    Needs
	Suppress []int32 // ids that are -inf before statistics and draw: the mask id, ids beyond the tokenizer, sampling.suppress_tokens
	Draw     Draw
	Filter   bool // some row uses top-k, top-p or min-p
	Below    bool // top-p keeps only tokens whose own cumulative mass is at most p, and the first (MDLM, ReMDM)
	Tempered bool // some row may have a temperature other than 0 and 1
	Present  bool // written positions need statistics too (planners that remask)

	// Guidance is w of classifier-free guidance, logits = un + (w+1) (cond - un); 0 is off and runs one pass, not two.
	Guidance float32
	Edits    Edits
}

// Edits are changes of the logits before everything else but suppression, in this order. The zero value changes nothing.
type Edits struct {
	Bias       []Bias  // constants: penalties of end-of-text tokens and the like
	Repetition float32 // over tokens written anywhere in the row: positive logits are divided, negative ones multiplied; 0 or 1 is off
	Left       float32 // penalty_lambda: subtracted from the logit of the token written at the position before
	Credit     Credit
}

// Bias is added to the logit of a token everywhere.
type Bias struct {
	Token int32
	Value float32
}

// Credit is that of CreditDecoding, per row, position and token: at every pass M <- Beta M, then M[argmax] += p1^Gamma at
// masked positions, then logits += Alpha ln(1 + M). Alpha 0 is off. A row that is fresh in its slot begins with M = 0.
type Credit struct{ Alpha, Gamma, Beta float32 }

// None tells whether the logits stay as they are.
func (e *Edits) None() bool {
	return len(e.Bias) == 0 && (e.Repetition == 0 || e.Repetition == 1) && e.Left == 0 && e.Credit.Alpha == 0
}

// Params are the draw's settings of one row. Order of application: temperature, top-k, top-p, min-p.
type Params struct {
	Temperature float32 // 0 = argmax
	TopK        int32   // 0 = off; ties at the k-th value are all kept
	TopP        float32 // 1 = off; the token that crosses p stays, unless Head.Below
	MinP        float32 // 0 = off
}

// Batch is one forward pass. The runtime owns the memory and hands it out by [Denoiser.Batch]; the caller fills it.
type Batch struct {
	B, L      int
	Tokens    []int64   // [B, L] padded with the pad id (or any token) where Attention is 0
	Attention []int64   // [B, L] 1 = real position
	Time      []float32 // [B] only read by models with a time input
	Active    []uint8   // [B, L] 1 = statistics wanted; elsewhere the results are undefined
	Params    []Params  // [B]
	Slots     []int32   // [B] where each row lives in the run's batch: the key of statistics with memory (kl_prev)
	Index     []int64   // [B] the rows' numbers in the run; nil where the runtime does not read them
	Step      []int32   // [B] the steps that they have done; likewise
	Fresh     []uint8   // [B] 1 = the row is new in its slot or begins a block, and the slot's memory is forgotten
	Lo, Hi    []int32   // [B] statistics are wanted in [Lo, Hi) of a row (right-shifted models read the position before it as well); nil where the runtime always runs whole rows
	Masked    []int64   // [B, L] 1 = the token is a proposal for a masked position: for planner networks that take it, else nil
	Uniform   []float64 // [B, L] the draw's noise, in (0, 1); not read at temperature 0
	Gumbel    []float64 // [B, L, V] with DrawGumbel, else nil

	Unconditional []int64 // [B, L] with Head.Guidance: the tokens of the pass that does not see the prompt; else nil
}

// Fault marks a proposal that could not be made.
const (
	// FaultNaN is the proposal where the logits hold NaN or +Inf.
	FaultNaN int32 = -1
	// FaultSuppressed is the proposal where every token is suppressed.
	FaultSuppressed int32 = -2
)

// Statistics is the result of one forward pass, laid out like the batch; nil where not needed. The memory belongs to
// the runtime and is valid until its next run. Tolerances against [Compute]: see DESIGN section 9.
type Statistics struct {
	B, L         int
	Partial      bool      // the model ran the rows' windows alone, on what it kept of the passes before
	Proposal     []int32   // [B, L] always there: a token id, FaultNaN or FaultSuppressed
	LogpProposal []float32 // [B, L]
	P1, P2       []float32 // [B, L]
	Entropy      []float32 // [B, L]
	LogpCurrent  []float32 // [B, L]
	KLPrev       []float32 // [B, L]
	TopIDs       []int32   // [B, L, K]
	TopLogp      []float32 // [B, L, K]
	VocabDot     []float32 // [C, B, L]

	// LogpLeaveOneOut [B, L] is the log-probability of the token that a written position holds where the position cannot see it: the
	// runtime runs the row with a shadow of every position behind it, a mask that attends to all of the row but that position. What
	// others have taken from the position in lower layers still reaches the shadow. After guidance and suppression, before edits; 0
	// at masked positions and where the token is suppressed.
	LogpLeaveOneOut []float32

	InsertionRate []float32 // [B, L+1] as the model gives it
	UnmaskRate    []float32 // [B, L] as the model gives it

	Logits []float32 // [B, L, V], in the memory given by Options of the runtime when it crosses to a plugin

	Failed []error // [B] why a row ends with this pass, alone; nil where it goes on, or in place of the slice where all do
}

// Denoiser is a loaded model: the one narrow interface of every runtime. It is used by one goroutine at a time, except
// Close and the cancelling of a context.
type Denoiser interface {
	Capabilities() Capabilities
	// Configure builds the statistics head. It is called once, before the first Batch.
	Configure(ctx context.Context, head Head) error
	// Batch returns the buffers of a [B, L] pass, all of which is to be filled. Memory of sizes that were asked for before is used again.
	Batch(b, l int) (*Batch, error)
	// Run runs the batch that was handed out last. Cancelling ctx ends it within about 0.1 s with ctx's error.
	Run(ctx context.Context) (*Statistics, error)
	Close() error
}
