package graph

import (
	"fmt"
	"slices"
)

func init() {
	register(inferConcat, "Concat")
	register(inferSplit, "Split")
	register(inferPad, "Pad")
}

func inferConcat(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	if err := c.sameType(0, len(c.in)-1); err != nil {
		return err
	}
	first := c.in[0]
	for _, v := range c.in {
		if !v.HasRank() {
			c.unranked(0, first.Type())
			return nil
		}
	}
	a, err := axis(c.intAttr("axis", 0), first.Rank())
	if err != nil {
		return err
	}
	out := slices.Clone(first.Shape())
	known := true
	for _, v := range c.in[1:] {
		if v.Rank() != first.Rank() {
			return fmt.Errorf("ranks differ: %s and %s; expected equal ones, reshape one of them", first, v)
		}
		for i, d := range v.Shape() {
			switch {
			case i == a:
				out[i] = out[i].Plus(d)
			case d.IsKnown() && out[i].IsKnown() && d.Size != out[i].Size:
				return fmt.Errorf("shapes %s and %s differ beside axis %d; expected equal sizes there", shapeText(first.Shape()), shapeText(v.Shape()), a)
			case d.IsKnown():
				out[i] = d
			}
		}
		if _, ok := v.Ints(); !ok {
			known = false
		}
	}
	c.set(0, first.Type(), out)
	if _, ok := first.Ints(); ok && known && first.Rank() == 1 {
		c.out[0].ints = nil
		for _, v := range c.in {
			more, _ := v.Ints()
			c.out[0].ints = append(c.out[0].ints, more...)
		}
	}
	return nil
}

func inferSplit(c *call) error {
	if err := c.need(1); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		for i := range c.out {
			c.unranked(i, x.Type())
		}
		return nil
	}
	a, err := axis(c.intAttr("axis", 0), x.Rank())
	if err != nil {
		return err
	}
	sizes, given := c.input(1).Ints()
	if s := c.attr("split"); s != nil {
		given = true
		for _, n := range s.Ints {
			sizes = append(sizes, Known(n))
		}
	}
	sum := Known(0)
	for i := range c.out {
		out := slices.Clone(x.Shape())
		switch {
		case given && len(sizes) != len(c.out):
			return fmt.Errorf("%d sizes for %d outputs; expected one an output", len(sizes), len(c.out))
		case given:
			out[a] = sizes[i]
			sum = sum.Plus(sizes[i])
		case c.input(1).Given():
			out[a] = unknown
		default:
			n := int64(len(c.out))
			if d := x.Dim(a); d.IsKnown() {
				chunk := (d.Size + n - 1) / n
				out[a] = Known(max(0, min(chunk, d.Size-chunk*int64(i))))
			} else if q, ok := d.Over(Known(n)); ok {
				out[a] = q
			} else {
				out[a] = unknown
			}
		}
		c.set(i, x.Type(), out)
	}
	if d := x.Dim(a); given && d.IsKnown() && sum.IsKnown() && d.Size != sum.Size {
		return fmt.Errorf("the sizes add up to %s, and axis %d has %s; expected the same", sum, a, d)
	}
	return nil
}

func inferPad(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	x := c.in[0]
	if !x.HasRank() {
		c.unranked(0, x.Type())
		return nil
	}
	out := slices.Clone(x.Shape())
	pads, ok := c.in[1].Ints()
	for i := range out {
		if !ok || c.input(3).Given() || len(pads) != 2*len(out) {
			out[i] = unknown
			continue
		}
		for _, p := range []Dim{pads[i], pads[i+len(out)]} {
			if n, literal := p.literal(); literal && n < 0 {
				out[i] = out[i].Minus(Known(-n))
			} else {
				out[i] = out[i].Plus(p)
			}
		}
	}
	c.set(0, x.Type(), out)
	return nil
}
