package graph

import (
	"fmt"
	"math"
	"slices"
)

func init() {
	register(inferSlice, "Slice")
}

// inferSlice takes starts, ends, axes and steps from inputs 1 to 4, of which the last two may be left out.
func inferSlice(c *call) error {
	if err := c.need(3); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	bounds, known := [4][]Dim{}, [4]bool{}
	n := -1 // bounds a list
	for i := range bounds {
		bounds[i], known[i] = c.input(i + 1).Ints()
		if !known[i] {
			continue
		}
		if k := len(bounds[i]); n >= 0 && n != k {
			return fmt.Errorf("starts, ends, axes and steps have %d and %d entries; expected equally many", n, k)
		}
		n = len(bounds[i])
	}
	starts, ends, axes, steps := bounds[0], bounds[1], bounds[2], bounds[3]
	out := slices.Clone(x.Shape())
	if c.input(3).Given() && !known[2] || n < 0 { // any axis may be cut
		for i := range out {
			out[i] = unknown
		}
		c.set(0, x.Type(), out)
		return nil
	}
	sure := known[0] && known[1] && (known[3] || !c.input(4).Given())
	for i := range n {
		a := int64(i)
		if axes != nil {
			v, literal := axes[i].literal()
			if !literal {
				return fmt.Errorf("axis %s is no number; expected axes that are known before the run", axes[i])
			}
			a = v
		}
		k, err := axis(a, x.Rank())
		if err != nil {
			return err
		}
		if out[k] = unknown; sure {
			step := Known(1)
			if steps != nil {
				step = steps[i]
			}
			out[k] = sliced(x.Dim(k), starts[i], ends[i], step)
		}
	}
	c.set(0, x.Type(), out)
	if ints, ok := x.Ints(); ok && x.Rank() == 1 && sure && n == 1 && (steps == nil || steps[0].Size == 1) {
		s, literal1 := starts[0].literal()
		e, literal2 := ends[0].literal()
		if literal1 && literal2 {
			lo, hi := clampSlice(s, int64(len(ints))), clampSlice(e, int64(len(ints)))
			c.out[0].ints = append([]Dim{}, ints[lo:max(lo, hi)]...)
		}
	}
	return nil
}

func clampSlice(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return max(0, min(i, n))
}

// sliced is the length of a slice of a dimension. Where the dimension has a name, the bounds are taken to lie inside it.
func sliced(d, start, end, step Dim) Dim {
	k, isStep := step.literal()
	s, isStart := start.literal()
	e, isEnd := end.literal()
	switch {
	case !isStep || k == 0:
		return unknown
	case !isStart:
		if k == 1 && isEnd && e >= math.MaxInt32 {
			return d.Minus(start)
		}
		if k == 1 && !isEnd {
			return end.Minus(start)
		}
		return unknown
	case d.IsKnown() && isEnd && k > 0:
		lo, hi := clampSlice(s, d.Size), clampSlice(e, d.Size)
		return Known(strides(hi-lo, k))
	case d.IsKnown() && isEnd:
		down := func(i, least int64) int64 { // bounds of a slice that runs backwards
			if i < 0 {
				i += d.Size
			}
			return max(least, min(i, d.Size-1))
		}
		return Known(strides(down(s, 0)-down(e, -1), -max(k, -math.MaxInt64)))
	case k != 1:
		return unknown
	case isEnd && e >= math.MaxInt32 && s >= 0:
		return d.Minus(Known(s))
	case isEnd && e >= math.MaxInt32 && s == -1:
		return Known(1)
	case isEnd && e < 0 && e > math.MinInt32 && s >= 0:
		return d.Minus(Known(s - e))
	case !isEnd && s >= 0:
		return end.Minus(start)
	}
	return unknown
}

// strides is the number of steps of size k in a span.
func strides(span, k int64) int64 {
	if span <= 0 {
		return 0
	}
	return (span-1)/k + 1
}
