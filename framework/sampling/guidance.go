package sampling

import "slices"

// Guidance is classifier-free guidance as the loop sees it: every pass runs each row twice, once without its prompt (see
// [Batch].Unconditional). Both count as forward passes of the row.
type Guidance struct {
	On   bool
	Keep []int32 // ids that stay where they are fixed: special tokens, and what the user keeps
}

// forwards is how many forward passes of a row one pass of the batch is.
func (g *Guidance) forwards() int {
	if g.On {
		return 2
	}
	return 1
}

// spent tells whether a row that ran so many forward passes may run no more.
func (l *Loop) spent(passes int) bool { return l.MaxNFE > 0 && passes+l.Guidance.forwards() > l.MaxNFE }

// hide writes the row [L] as the pass without the prompt sees it: fixed tokens masked, but for those that are kept. What the
// run has written stays, so that a row without a prompt is its own unconditional row.
func (g *Guidance) hide(tokens, unconditional []int64, flags []Flags, maskID int32) {
	copy(unconditional, tokens)
	for j, f := range flags {
		if f&Fixed != 0 && !slices.Contains(g.Keep, int32(tokens[j])) {
			unconditional[j] = int64(maskID)
		}
	}
}
