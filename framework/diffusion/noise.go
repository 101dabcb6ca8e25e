package diffusion

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/diffusion/philox"
)

// Noise is one named source of a training run's randomness. Every number is an exact function of the run's seed, the name,
// the step, the row's index in the global batch and the column: a row's noise depends neither on its neighbours nor on how
// the batch is split, nor on how far the batch is padded. Uniforms are (k + 1/2) / 2^23 with 23 random bits k, exact in
// float32 and strictly inside (0, 1).
//
// Filling allocates nothing but a scratch buffer that is kept; a Noise serves one goroutine at a time.
type Noise struct {
	key  [2]uint32
	keys []uint64 // scratch of [Ranks]
}

// The kinds of numbers drawn from one name keep apart in the counter.
const (
	kindUniform = iota
	kindTime
	kindRank
)

// NewNoise returns the source of that name in the run of that seed. Sources of different names are independent.
func NewNoise(seed uint64, name string) *Noise {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	sub := philox.Block([4]uint32{uint32(h), uint32(h >> 32)}, [2]uint32{uint32(seed), uint32(seed >> 32)})
	return &Noise{key: [2]uint32{sub[0], sub[1]}}
}

// block returns four words of the row that belong to columns 4i to 4i+3. Rows stay below 2^32, steps below 2^56.
func (n *Noise) block(kind, i, row int, step int64) [4]uint32 {
	return philox.Block([4]uint32{uint32(i), uint32(row), uint32(step), uint32(step>>32)<<8 | uint32(kind)}, n.key)
}

// unit keeps 23 bits of a word.
func unit(word uint32) float32 { return float32(word>>9<<1|1) * 0x1p-24 }

// Uniform fills dst [rows, cols] with the uniforms of a step, for the rows row, row+1, ... of the global batch. cols is the
// product of all dimensions but the first.
func (n *Noise) Uniform(dst []float32, step int64, row, cols int) {
	whole(len(dst), cols)
	for ; len(dst) > 0; row++ {
		line := dst[:cols]
		dst = dst[cols:]
		for i := 0; len(line) >= 4; i++ {
			w := n.block(kindUniform, i, row, step)
			line[0], line[1], line[2], line[3] = unit(w[0]), unit(w[1]), unit(w[2]), unit(w[3])
			line = line[4:]
		}
		if len(line) > 0 {
			w := n.block(kindUniform, cols/4, row, step)
			for j := range line {
				line[j] = unit(w[j])
			}
		}
	}
}

// Time fills dst [rows] with the times of a step, for the rows row, row+1, ... of a global batch of B rows, clamped into
// [eps, 1-eps] and strictly inside (0, 1) whatever eps is.
func (n *Noise) Time(dst []float32, step int64, row, B int, sampler TimeSampler, eps float64) {
	eps = max(eps, 0x1p-24)
	shared := float64(unit(n.block(kindTime, 0, 0, step)[0]))
	for j := range dst {
		u := shared
		if sampler != SharedOffset {
			u = float64(unit(n.block(kindTime, 1, row+j, step)[0]))
		}
		dst[j] = float32(Clamp(sampler.At(u, row+j, B), eps))
	}
}

// rankColumn bounds the columns of [Ranks].
const rankColumn = 1<<24 - 1

// Ranks fills dst [rows, cols], cols < 2^24, with a random permutation of 0..cols-1 in each row, for the rows row, row+1, ...
// of the global batch: dst[r, c] is the rank of column c. The order of two columns depends on these two alone, so the
// order among a row's real positions is the same however far the batch is padded.
func Ranks[T int64 | float32](n *Noise, dst []T, step int64, row, cols int) {
	if cols > rankColumn {
		panic("diffusion: ranks of 2^24 columns or more: expected fewer")
	}
	whole(len(dst), cols)
	n.keys = slices.Grow(n.keys[:0], cols)[:cols]
	for ; len(dst) > 0; row++ {
		for i := 0; i < cols; i += 2 {
			w := n.block(kindRank, i/2, row, step)
			n.keys[i] = rankKey(w[0], w[1], i)
			if i+1 < cols {
				n.keys[i+1] = rankKey(w[2], w[3], i+1)
			}
		}
		slices.Sort(n.keys)
		for rank, key := range n.keys {
			dst[key&rankColumn] = T(rank)
		}
		dst = dst[cols:]
	}
}

// whole refuses a buffer that is not a number of whole rows.
func whole(length, cols int) {
	if length > 0 && (cols < 1 || length%cols != 0) {
		panic(fmt.Sprintf("diffusion: noise: a buffer of %d numbers: expected rows of %d", length, cols))
	}
}

// rankKey holds 40 random bits above the column, which decides ties.
func rankKey(hi, lo uint32, column int) uint64 {
	return (uint64(hi)<<32|uint64(lo))&^rankColumn | uint64(column)
}
