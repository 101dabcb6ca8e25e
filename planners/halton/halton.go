// Package halton opens the positions of a grid in a fixed order that spreads them evenly (Halton-MaskGIT, Besnier et al.
// 2025): the points of the Halton sequence with the bases 2 (rows) and 3 (columns), each cell at its first point.
package halton

import (
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// Options of the planner "halton".
type Options struct {
	Rows  int `option:"rows" default:"0" min:"0" max:"65536" help:"rows of the grid; 0 = as many as the columns need to cover the row of tokens"`
	Cols  int `option:"cols" default:"0" min:"0" max:"65536" help:"columns of the grid; 0 = as many as the rows need; with both 0 the grid is the nearest square that reaches the last blank, so give both for infilling"`
	Start int `option:"start" default:"0" min:"0" help:"position of the grid's first cell, row by row from there; positions outside the grid come last, from left to right"`
	count.PerStep
	Schedule string `option:"schedule" default:"arccos" enum:"arccos,auto,k,uniform,linear,dream,alpha,cosine,pow2,pow3,pow0.5,log,exp,stochastic_transfer" help:"how many positions each step opens; arccos is Halton-MaskGIT's, which takes 32 to 64 steps"`
}

// cells is the largest grid, which keeps the order's computation to a moment.
const cells = 1 << 20

// New returns the planner "halton".
func New() sampling.Planner {
	return sdk.NewRunPlanner("halton", build, sdk.Needs(sdk.Uniform), sdk.NeedsFor(func(o Options) sampling.Needs {
		return count.Needs(o.Schedule, sampling.Needs{})
	}), sdk.Pure(), sdk.Version("1.0.0"), sdk.Summary("opens the cells of a grid in the evenly spread order of the Halton sequence"))
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	if o.Rows*o.Cols > cells {
		return nil, fmt.Errorf("rows %d, cols %d: expected a grid of at most %d cells; give the size of the model's own", o.Rows, o.Cols, cells)
	}
	orders := map[int][]float64{} // by the length that the grid was asked to cover
	var score []float64           // [n] reused from row to row
	return count.Scheduled(o.Schedule, o.K, func(r sdk.Row, k, _ int) sdk.Positions {
		n := r.Offset + len(r.Flags)
		rows, cols := size(o, n-o.Start)
		if o.Rows > 0 && o.Cols > 0 {
			n = 0 // one grid for all rows
		}
		rank, ok := orders[n]
		if !ok {
			rank = Ranks(rows, cols)
			orders[n] = rank
		}
		score = score[:0]
		for i := range r.Flags {
			at := r.Offset + i - o.Start
			if at >= 0 && at < len(rank) {
				score = append(score, rank[at])
			} else {
				score = append(score, math.MaxFloat64)
			}
		}
		return r.Eligible().SmallestBy64(score, k)
	})
}

// size completes the grid for n positions: 0 x 0 becomes the smallest near-square that covers them.
func size(o Options, n int) (rows, cols int) {
	rows, cols, n = o.Rows, o.Cols, max(n, 1)
	switch {
	case rows == 0 && cols == 0:
		cols = int(math.Ceil(math.Sqrt(float64(n))))
		rows = (n + cols - 1) / cols
	case rows == 0:
		rows = (n + cols - 1) / cols
	case cols == 0:
		cols = (n + rows - 1) / rows
	}
	return rows, cols
}

// Ranks returns for every cell of a grid, row by row, when it comes in the Halton order, from 0. The cells of the points
// are found with integers, so that none moves by rounding.
func Ranks(rows, cols int) []float64 {
	rank := make([]float64, rows*cols)
	for i := range rank {
		rank[i] = -1
	}
	for next, point := 0, 1; next < len(rank); point++ {
		if cell := inverse(2, point, rows)*cols + inverse(3, point, cols); rank[cell] < 0 {
			rank[cell] = float64(next)
			next++
		}
	}
	return rank
}

// inverse is floor(size x), x in [0, 1) the radical inverse of n: its digits in the base, mirrored at the point.
func inverse(base, n, size int) int {
	digits, scale := 0, 1
	for ; n > 0; n /= base {
		digits, scale = digits*base+n%base, scale*base
	}
	return digits * size / scale
}
