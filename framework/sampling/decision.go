package sampling

// Fill asks the host to finish a row in one go.
type Fill uint8

const (
	// FillNone leaves the rest of the row as the other fields say.
	FillNone Fill = iota
	// FillArgmax opens every eligible position with its most probable token.
	FillArgmax
	// FillDraw opens every eligible position with the host's proposal.
	FillDraw
)

// Write puts a token of the planner's own choice at a position.
type Write struct{ Position, Token int32 }

// Insertion puts Count new masked positions into a gap; gap g lies before position g, the last gap after the last.
type Insertion struct{ Gap, Count int32 }

// Decision is a planner's answer for one row. Positions are indices into the row's window, before the step; the host
// applies overwrite and open, then remask, then delete, then insert; gaps and positions are those before the step in all of
// them. New masks wait for the next step.
type Decision struct {
	Open      []int32 // masked positions that take the host's proposal
	Overwrite []Write
	Remask    []int32 // written, not fixed positions that become masks again
	Delete    []int32
	Insert    []Insertion
	Fill      Fill
	// ActedAs is the step index that the planner acted as, when the steps before it would have changed nothing: the
	// host goes on with ActedAs+1, so that empty steps cost no forward pass. 0 means the step that was given.
	ActedAs int
	NextT   float64 // 0, or the time at which the row goes on
	Done    bool    // the row is finished, even with masks left
	GoOn    bool    // the row is not finished even with no mask left, while it has steps: it may be revised
	Refused int     // insertion models: masks that the step would have inserted if the row had had room for them; the row ends with finish length
	Metrics map[string]float64
}

// Reset empties the decision and keeps its memory.
func (d *Decision) Reset() {
	*d = Decision{Open: d.Open[:0], Overwrite: d.Overwrite[:0], Remask: d.Remask[:0], Delete: d.Delete[:0], Insert: d.Insert[:0]}
}

// Empty tells whether the decision changes nothing and finishes nothing.
func (d *Decision) Empty() bool {
	return len(d.Open)+len(d.Overwrite)+len(d.Remask)+len(d.Delete)+len(d.Insert) == 0 && d.Fill == FillNone && !d.Done
}
