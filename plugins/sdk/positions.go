package sdk

import (
	"fmt"
	"iter"
)

// Positions is an ordered set of positions of one row's window. It is valid during the call only.
type Positions struct {
	at  []int32
	mem *memory
}

// Len returns how many positions there are.
func (p Positions) Len() int { return len(p.at) }

// Indices returns the positions; the slice must not be changed.
func (p Positions) Indices() []int32 { return p.at }

// First returns the first n positions in the order that they have; all of them if there are fewer.
func (p Positions) First(n int) Positions {
	return Positions{at: p.at[:max(0, min(n, len(p.at)))], mem: p.mem}
}

// Where returns the positions that fulfil a condition, in the same order.
func (p Positions) Where(is func(i int) bool) Positions {
	at := p.mem.positions.take(len(p.at))
	for _, i := range p.at {
		if is(int(i)) {
			at = append(at, i)
		}
	}
	return Positions{at: at, mem: p.mem}
}

// SmallestBy returns the k positions of smallest score, smallest first; equal scores go to the lower index. The score
// is indexed by position, like the row's statistics. A score that is NaN, or that the planner did not ask for in its
// needs, ends the run with an error. k beyond Len takes all.
func (p Positions) SmallestBy(score []float32, k int) Positions { return best(p, score, k, 1) }

// LargestBy is [Positions.SmallestBy] for the largest scores, largest first; equal scores go to the lower index.
func (p Positions) LargestBy(score []float32, k int) Positions { return best(p, score, k, -1) }

// SmallestBy64 is [Positions.SmallestBy] for scores in double precision, such as Row.Uniform.
func (p Positions) SmallestBy64(score []float64, k int) Positions { return best(p, score, k, 1) }

// LargestBy64 is [Positions.LargestBy] for scores in double precision.
func (p Positions) LargestBy64(score []float64, k int) Positions { return best(p, score, k, -1) }

// DrawBy draws k positions one after the other without replacement, each with a probability proportional to exp(logWeight): they are
// the k largest of logWeight + noise, in the order drawn, all of them where there are fewer. noise is standard Gumbel noise by
// position: Row.Gumbel, or [GumbelOf] uniforms. Weights and noise that are missing or NaN end the run with an error.
func (p Positions) DrawBy(logWeight []float32, noise []float64, k int) Positions {
	return draw(p, logWeight, noise, k)
}

// DrawBy64 is [Positions.DrawBy] for weights in double precision.
func (p Positions) DrawBy64(logWeight, noise []float64, k int) Positions {
	return draw(p, logWeight, noise, k)
}

// Ascending yields positions from the smallest score to the largest, as far as the loop goes: cheaper than sorting for
// rules that stop early. Ties and errors are those of [Positions.SmallestBy].
func (p Positions) Ascending(score []float32) iter.Seq[int] { return inOrder(p, score, 1) }

// Descending is [Positions.Ascending] from the largest score to the smallest; equal scores go to the lower index.
func (p Positions) Descending(score []float32) iter.Seq[int] { return inOrder(p, score, -1) }

// ranked is a position with its score as a key to be taken in ascending order.
type ranked struct {
	key float64
	at  int32
}

func (a ranked) before(b ranked) bool { return a.key < b.key || a.key == b.key && a.at < b.at }

func best[F float32 | float64](p Positions, score []F, k int, sign float64) Positions {
	if k = max(0, min(k, len(p.at))); k == 0 {
		return Positions{mem: p.mem}
	}
	return p.take(rank(p, score, sign), k)
}

func draw[F float32 | float64](p Positions, logWeight []F, noise []float64, k int) Positions {
	if k = max(0, min(k, len(p.at))); k == 0 {
		return Positions{mem: p.mem}
	}
	weights, luck := rank(p, logWeight, 1), rank(p, noise, 1)
	for i := range min(len(weights), len(luck)) {
		weights[i].key = -(weights[i].key + luck[i].key)
	}
	return p.take(weights, k)
}

// take returns the k positions of smallest key, fewer where fewer are ranked.
func (p Positions) take(r []ranked, k int) Positions {
	at, heap := p.mem.positions.take(k), p.heap(r)
	for len(at) < k && len(heap) > 0 {
		at = append(at, heap[0].at)
		heap = heap.pop()
	}
	return Positions{at: at, mem: p.mem}
}

func inOrder[F float32 | float64](p Positions, score []F, sign float64) iter.Seq[int] {
	return func(yield func(int) bool) {
		heap := p.heap(rank(p, score, sign))
		for len(heap) > 0 {
			if !yield(int(heap[0].at)) {
				return
			}
			heap = heap.pop()
		}
	}
}

// rank returns the positions with their keys, or nothing and a failed row when a score is missing or NaN.
func rank[F float32 | float64](p Positions, score []F, sign float64) []ranked {
	out := p.mem.ranked.take(len(p.at))
	for _, i := range p.at {
		if int(i) >= len(score) || i < 0 {
			p.mem.fail(fmt.Errorf("the scores have %d entries and none for position %d; declare the statistic in sdk.Needs", len(score), i))
			return nil
		}
		key := sign * float64(score[i])
		if key != key {
			p.mem.fail(fmt.Errorf("the score of position %d is NaN; scores must be numbers", i))
			return nil
		}
		out = append(out, ranked{key, i})
	}
	return out
}

// minHeap is a binary heap, smallest key first: n steps to build, log n for each position taken.
type minHeap []ranked

func (p Positions) heap(r []ranked) minHeap {
	h := minHeap(r)
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
	return h
}

func (h minHeap) pop() minHeap {
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	h.sink(0)
	return h
}

func (h minHeap) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].before(h[child]) {
			child++
		}
		if !h[child].before(h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
