package sampling

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/diffusion/philox"
)

// Purpose separates the random streams of one row, step and position.
type Purpose uint8

// The purposes of noise.
const (
	PurposeDraw    Purpose = iota // the uniform of a proposal
	PurposeUniform                // the planner's uniform
	PurposeGumbel                 // the planner's Gumbel noise
	PurposeToken                  // V-wide Gumbel noise of a proposal
	PurposeGap                    // the uniform of a gap, keyed by the gap instead of a position
)

// Stream is the run's source of randomness: a counter-based generator (Philox4x32-10, Salmon et al. 2011), so every
// number is an exact function of the seed, the row, the step, the position and the purpose, whatever the batch, the
// threads or the order of evaluation.
type Stream struct{ Seed uint64 }

// Uniforms fills dst with one uniform per position lo, lo+1, ... of a row, strictly inside (0, 1), with 53 random bits.
func (s Stream) Uniforms(dst []float64, row int64, step, lo int, purpose Purpose) {
	key := [2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)}
	for i := range dst {
		dst[i] = uniform(philox.Block(counter(row, step, lo+i, purpose), key))
	}
}

// Gumbels fills dst with standard Gumbel noise, -ln(-ln u) in float64, keyed like [Stream.Uniforms].
func (s Stream) Gumbels(dst []float64, row int64, step, lo int, purpose Purpose) {
	s.Uniforms(dst, row, step, lo, purpose)
	for i, u := range dst {
		dst[i] = -math.Log(-math.Log(u))
	}
}

// TokenGumbels fills dst [V] with the Gumbel noise of every token at one position.
func (s Stream) TokenGumbels(dst []float64, row int64, step, position int) {
	sub := philox.Block(counter(row, step, position, PurposeToken), [2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)})
	key := [2]uint32{sub[2], sub[3]}
	for v := range dst {
		u := uniform(philox.Block([4]uint32{uint32(v), sub[0], sub[1], 0}, key))
		dst[v] = -math.Log(-math.Log(u))
	}
}

// rowStream is the noise of one row.
type rowStream struct {
	Stream
	row int64
}

// streamOf returns the noise of a row of the run.
func (s Stream) streamOf(r *Request) rowStream {
	if r.Noise != nil {
		return rowStream{Stream{r.Noise.Seed}, r.Noise.Row}
	}
	return rowStream{s, r.Index}
}

func counter(row int64, step, position int, purpose Purpose) [4]uint32 {
	return [4]uint32{uint32(position), uint32(step), uint32(row), uint32(row>>32)<<8 | uint32(purpose)}
}

// uniform keeps 53 bits and never returns 0; 1 is out of reach.
func uniform(x [4]uint32) float64 {
	k := (uint64(x[0])<<32 | uint64(x[1])) >> 11
	return float64(max(k, 1)) * 0x1p-53
}
