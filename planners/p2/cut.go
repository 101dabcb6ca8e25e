package p2

import (
	"fmt"
	"math"
)

// cut divides the free positions of a row into those that hold a token after the step and those that are masked. Its
// memory is reused from row to row.
type cut struct {
	score        []float64 // [n] +Inf at positions that are not free
	order        []float64 // the free scores, being searched
	at           float64   // scores below are masked, those above stay
	from         int       // of the scores at the cut, those from this position on are masked
	stays, falls func(i int) bool
}

func (c *cut) reset(n int) {
	if c.stays == nil {
		c.falls = func(i int) bool { return c.score[i] < c.at || c.score[i] == c.at && i >= c.from }
		c.stays = func(i int) bool { return !c.falls(i) }
	}
	c.score, c.order = c.score[:0], c.order[:0]
	for range n {
		c.score = append(c.score, math.Inf(1))
	}
}

// add lets a free position take part.
func (c *cut) add(i int32, score float64) {
	c.score[i] = score
	c.order = append(c.order, score)
}

// mask puts the cut above the k smallest scores; of equal scores the higher positions are masked first.
func (c *cut) mask(k int) error {
	c.at, c.from = math.Inf(-1), len(c.score)
	for i, s := range c.score {
		if s != s {
			return fmt.Errorf("the score of position %d is NaN; scores must be numbers", i)
		}
	}
	if k = min(k, len(c.order)); k <= 0 {
		return nil
	}
	c.at = kth(c.order, k-1)
	for _, s := range c.score {
		if s < c.at {
			k--
		}
	}
	for c.from = len(c.score); k > 0; {
		if c.from--; c.score[c.from] == c.at {
			k--
		}
	}
	return nil
}

// kth returns the value that would stand at index k if v were sorted, in linear time on average (Hoare's FIND). It
// rearranges v.
func kth(v []float64, k int) float64 {
	for lo, hi := 0, len(v)-1; lo < hi; {
		pivot, i, j := v[lo+(hi-lo)/2], lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for pivot < v[j] {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return v[k]
		}
	}
	return v[k]
}
