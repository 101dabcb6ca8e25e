package foreign

import "slices"

// tie makes one parameter of matrices with equal values, or with one the transpose of the other. Constant folding turns a
// decoder that is tied to the embedding into a second matrix, which would be trained apart. Matrices of equal elements
// are no evidence and stay.
func (r *reader) tie(all []*candidate) []*candidate {
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *candidate) int { return looked(b) - looked(a) })
	joined := map[*candidate]bool{}
	var kept []*candidate
	for _, c := range order {
		t := c.places[0].tensor
		if len(t.Dims) != 2 || c.fixed != "" || c.values.uniform() {
			continue
		}
		i := -1
		transposed := false
		for j, k := range kept {
			d := k.places[0].tensor.Dims
			switch {
			case slices.Equal(d, t.Dims) && equal(k.values, c.values):
				i = j
			case d[0] == t.Dims[1] && d[1] == t.Dims[0] && equalTransposed(k.values, c.values, int(t.Dims[0]), int(t.Dims[1])):
				i, transposed = j, true
			default:
				continue
			}
			break
		}
		if i < 0 {
			kept = append(kept, c)
			continue
		}
		joined[c] = true
		k := kept[i]
		k.places, k.uses = append(k.places, place{t, transposed}), append(k.uses, c.uses...)
		r.report.Tied = append(r.report.Tied, Tied{Parameter: k.name, Tensor: t.Name, Transposed: transposed})
	}
	return slices.DeleteFunc(all, func(c *candidate) bool { return joined[c] })
}

// looked is 1 for embeddings, whose shape a tied parameter takes.
func looked(c *candidate) int {
	if slices.ContainsFunc(c.uses, func(u use) bool { return u.node.Op == "Gather" }) {
		return 1
	}
	return 0
}

func equal(a, b numbers) bool { return string(a) == string(b) }

// equalTransposed compares a [cols, rows] with b [rows, cols].
func equalTransposed(a, b numbers, rows, cols int) bool {
	for i := range rows {
		for j := range cols {
			if string(a[4*(j*rows+i):][:4]) != string(b[4*(i*cols+j):][:4]) {
				return false
			}
		}
	}
	return true
}
