package foreign

import (
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// constants finds the tables among the candidates that no author would train: masks, sines and cosines of positions,
// frequencies, and what a fixed batch was folded into.
func (r *reader) constants(all []*candidate) {
	readers := map[string][]*graph.Node{}
	for _, n := range r.forward {
		for _, in := range n.Inputs {
			readers[in] = append(readers[in], n)
		}
	}
	for _, c := range all {
		t := c.places[0].tensor
		switch {
		case masking(c.values):
			c.fixed = "a mask"
		case waves(c.values, t.Dims), slices.ContainsFunc(all, func(d *candidate) bool { return d != c && circle(c, d) }):
			c.fixed = "sines and cosines"
		case frequencies(t.Name, readers, map[string]bool{}):
			c.fixed = "frequencies of sines and cosines"
		case len(t.Dims) >= 3 && r.ports.rows.Size > 1 && t.Dims[0] == r.ports.rows.Size && t.Dims[1] == r.ports.length.Size:
			c.fixed = "folded for each row of the fixed batch; export the model with a dynamic batch to train what is behind it"
		}
	}
}

// masking tells whether there are elements that only masks have.
func masking(n numbers) bool {
	for i := range n.len() {
		if x := float64(n.at(i)); !(x > -1e30 && x < 1e30) {
			return true
		}
	}
	return false
}

// circle tells whether two tables are cosines and sines of the same angles.
func circle(c, d *candidate) bool {
	if !slices.Equal(c.places[0].tensor.Dims, d.places[0].tensor.Dims) || c.values.uniform() || d.values.uniform() {
		return false
	}
	for i := range c.values.len() {
		if !unit(c.values.at(i), d.values.at(i)) {
			return false
		}
	}
	return true
}

// waves tells whether a table [..., D] holds sines and cosines of the same angles, side by side or in halves, as
// position tables that are not learned do.
func waves(n numbers, dims []int64) bool {
	d := int(dims[len(dims)-1])
	if len(dims) < 2 || d%2 != 0 || n.uniform() {
		return false
	}
	beside, halves := true, true
	for row := 0; row < n.len() && (beside || halves); row += d {
		for i := range d / 2 {
			beside = beside && unit(n.at(row+2*i), n.at(row+2*i+1))
			halves = halves && unit(n.at(row+i), n.at(row+i+d/2))
		}
	}
	return beside || halves
}

func unit(x, y float32) bool {
	return math.Abs(float64(x)*float64(x)+float64(y)*float64(y)-1) < 1e-5
}

// frequencies tells whether everything that is made of an edge goes into sines and cosines. seen are the edges that were
// looked at.
func frequencies(edge string, readers map[string][]*graph.Node, seen map[string]bool) bool {
	if seen[edge] {
		return true
	}
	seen[edge] = true
	for _, n := range readers[edge] {
		switch n.Op {
		case "Sin", "Cos":
		case "Mul", "MatMul", "Einsum", "Identity", "Cast", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Expand", "Concat", "Slice", "Gather":
			if !frequencies(n.Outputs[0], readers, seen) {
				return false
			}
		default:
			return false
		}
	}
	return len(readers[edge]) > 0
}
