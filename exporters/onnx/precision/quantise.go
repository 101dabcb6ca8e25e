package precision

import (
	"fmt"
	"math"
)

// quantise returns the matrix as int8 [k, n], by rows, and the scales [n] of its columns: w is about value * scale. Scales are the largest
// magnitude of a column divided by the largest integer; a column of zeros has scale 1. Values are rounded to nearest, ties to even.
func quantise(m matrix) (values []byte, scales []float32, err error) {
	w, err := floats(m.Tensor)
	if err != nil {
		return nil, nil, err
	}
	if len(w) != m.k*m.n {
		return nil, nil, fmt.Errorf("weight %q: holds %d numbers; expected %d x %d, export the model anew", m.Name, len(w), m.k, m.n)
	}
	row, column := m.n, 1 // steps in w from one row, and one column, to the next
	if m.turned {
		row, column = 1, m.k
	}
	scales = make([]float32, m.n)
	for i := range m.k {
		for j := range m.n {
			x := w[i*row+j*column]
			if !finite(x) {
				return nil, nil, fmt.Errorf("weight %q: element [%d, %d] is %g; expected a finite number, use an earlier checkpoint", m.Name, i, j, x)
			}
			scales[j] = max(scales[j], float32(math.Abs(float64(x))))
		}
	}
	for j, s := range scales {
		if scales[j] = s / largest; scales[j] == 0 {
			scales[j] = 1
		}
	}
	values = make([]byte, m.k*m.n)
	for i := range m.k {
		for j := range m.n {
			q := math.RoundToEven(float64(w[i*row+j*column]) / float64(scales[j]))
			values[i*m.n+j] = byte(int8(min(max(q, -largest), largest)))
		}
	}
	return values, scales, nil
}
