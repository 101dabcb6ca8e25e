package sampling

import "unsafe"

// Flags are the bits of one position of a row.
type Flags uint8

const (
	// Masked: the position holds the mask and waits for a token.
	Masked Flags = 1 << iota
	// Fixed: prompt, special or padding position; no decision may touch it.
	Fixed
	// Eligible: masked and may be opened in this step.
	Eligible
)

// Row is what a planner sees of one row in one step. Every slice but the top-k, vocab-dot and logits ones has one entry
// per position of the row's active window, and positions in decisions are indices into these slices. The window starts
// at Offset of the whole row, which matters only to planners that use distances. Slices of statistics that were not
// declared as needed are nil; at fixed positions, and at written ones when the planner cannot remask, statistics are 0 and the proposal
// is -1. A planner must neither keep nor change the slices: the host reuses them.
type Row struct {
	Index  int64 // the row's number in the run, which keys its random streams
	Slot   int   // where the row lives in the batch; reused when a row is finished
	Offset int   // first position of the window in the whole row
	Length int   // positions of the whole row
	Blanks int   // positions of the window that were blank when it was first reached: the N of every count schedule
	Behind int   // positions behind the window that are still masked: those of later blocks

	Step, Steps    int     // step index from 0, and the number of steps (a cap for adaptive planners): those of the window
	T, S           float64 // time before and after this step, running 1 -> 0
	AlphaT, AlphaS float64 // probability that a token is still clean at T and at S

	Token []int32 // [n] the canvas: token ids, the mask id where masked
	Flags []Flags // [n]

	Proposal     []int32   // [n] the host's draw, -1 where none was made
	LogpProposal []float32 // [n]
	P1, P2       []float32 // [n]
	Entropy      []float32 // [n] nats
	LogpCurrent  []float32 // [n]
	KLPrev       []float32 // [n] nats; +Inf in a row's first step
	PlannerScore []float32 // [n]

	LogpLeaveOneOut []float32 // [n]

	// Of insertion models. Gap g lies before position g, gap n behind the last. Both rates are multipliers per unit of the clock.
	InsertionRate []float32 // [n+1] expected number of missing tokens, weighted with their speeds
	UnmaskRate    []float32 // [n] 1 where the model learned none
	FrozenGap     []uint8   // [n+1] 1 = the gap may not grow
	GapUniform    []float64 // [n+1] in (0, 1): noise of the gaps, where both InsertionRate and Uniform are needed
	Room          int       // positions that the row may still grow by

	Uniform []float64 // [n] in (0, 1)
	Gumbel  []float64 // [n]

	K        int       // candidates per position
	TopIDs   []int32   // [n, K]
	TopLogp  []float32 // [n, K]
	VocabDot []float32 // [C, n]
	V        int       // tokens of the vocabulary, when Logits are there
	Logits   []float32 // [n, V] before edits and suppression
}

// Step is one planning call: every row of the batch that took part in the forward pass.
type Step struct {
	Run  string
	Rows []Row
}

// Bytes lays the flags out for the wire without a copy.
func Bytes[T Flags | uint8 | int32 | float32 | float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}
