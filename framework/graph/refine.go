package graph

// Refine records what an author knows of a value's shape beyond inference: dimensions that inference could not name take those
// of shape. Sizes that contradict each other are a mistake.
func (b *Builder) Refine(v Value, shape ...Dim) Value {
	if b.err != nil || !v.Given() {
		return v
	}
	if !v.info.ranked {
		v.info.shape, v.info.ranked = append([]Dim{}, shape...), true
		return v
	}
	if len(shape) != v.Rank() {
		return b.Fail("%s: its rank is not that of %s", v, shapeText(shape))
	}
	for i, d := range shape {
		e := &v.info.shape[i]
		switch {
		case e.IsKnown() && d.IsKnown() && e.Size != d.Size:
			return b.Fail("%s: its shape is not %s", v, shapeText(shape))
		case d.IsKnown(), e.vague() && !d.unknown():
			*e = d
		}
	}
	return v
}
