package curve

import (
	"math"

	"gonum.org/v1/plot/plotter"

	"github.com/mdmhost/mdmhost/framework/training/record"
)

// points returns bits per token by step of the lines of a kind, in runs of finite numbers: a line is not drawn across a
// loss that was not one.
func points(lines []record.Line, kind record.Kind, logarithmic bool) (parts []plotter.XYs) {
	open := false
	for _, l := range lines {
		y := l.BitsPerToken
		switch {
		case l.Kind != kind:
			continue
		case math.IsNaN(y) || math.IsInf(y, 0) || (logarithmic && y <= 0):
			open = false
			continue
		case !open:
			parts, open = append(parts, nil), true
		}
		last := &parts[len(parts)-1]
		*last = append(*last, plotter.XY{X: float64(l.Step), Y: y})
	}
	return parts
}

// smooth takes means over neighbours, twice, of a fiftieth of the points on either side. At the beginning, where the
// loss falls steeply, the neighbours are as many on both sides; at the end, where it is noisy and flat, they are not.
func smooth(in plotter.XYs) plotter.XYs {
	reach := len(in) / 50
	out := append(plotter.XYs{}, in...)
	if reach == 0 {
		return out
	}
	sums := make([]float64, len(in)+1)
	for range 2 {
		for i, p := range out {
			sums[i+1] = sums[i] + p.Y
		}
		for i := range out {
			left := min(reach, i)
			right := min(left, len(out)-1-i)
			out[i].Y = (sums[i+right+1] - sums[i-left]) / float64(right+left+1)
		}
	}
	return out
}

// ceiling is the largest of the values, those of the first two per cent of the steps left out: the loss of an untrained
// network would press the rest of the curve flat. It is -Inf where nothing is left.
func ceiling(parts []plotter.XYs, steps float64) float64 {
	highest := math.Inf(-1)
	for _, part := range parts {
		for _, p := range part {
			if p.X > steps/50 {
				highest = math.Max(highest, p.Y)
			}
		}
	}
	return highest
}
