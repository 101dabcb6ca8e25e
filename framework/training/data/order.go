package data

import (
	"math/bits"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// The purposes of the data's random numbers, apart from those of sampling and of training noise.
const (
	purposeSplit sampling.Purpose = 0xd0 + iota // which rows are for validation
	purposeOrder                                // rounds of an epoch's permutation
	purposeCrop                                 // where a window starts
)

// rounds of the Feistel network; four are a pseudo-random permutation already (Luby and Rackoff 1988).
const rounds = 6

// permuted returns where the i-th row of an epoch is, 0 <= i < n: a permutation of the n rows that is keyed by seed and
// epoch and takes no memory. It is a balanced Feistel network over the next power of four, walked on until it falls below
// n (Black and Rogaway 2002).
func permuted(seed uint64, epoch, i, n int64) int64 {
	if n == 1 {
		return 0
	}
	half := max(3, (bits.Len64(uint64(n-1))+1)/2) // bits; fewer than three would mix too little
	mask := uint64(1)<<half - 1
	x := uint64(i)
	for {
		left, right := x>>half, x&mask
		for round := range rounds {
			left, right = right, left^(draw(seed, int64(right), epoch, round, purposeOrder)&mask)
		}
		if x = left<<half | right; x < uint64(n) {
			return int64(x)
		}
	}
}

// draw returns 53 random bits. epoch takes the place of the step, of which a stream keys 32 bits.
func draw(seed uint64, row, epoch int64, position int, purpose sampling.Purpose) uint64 {
	var u [1]float64
	sampling.Stream{Seed: seed}.Uniforms(u[:], row, int(epoch), position, purpose)
	return uint64(u[0] * 0x1p53)
}

// crop returns where the window of a row counter starts, 0 <= start < n.
func crop(seed uint64, position, n int64) int64 {
	var u [1]float64
	sampling.Stream{Seed: seed}.Uniforms(u[:], position, 0, 0, purposeCrop)
	return min(int64(u[0]*float64(n)), n-1)
}
