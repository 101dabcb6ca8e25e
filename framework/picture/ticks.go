package picture

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// LinearTicks marks 1, 2, 2.5 or 5 times a power of ten, about eight of them.
type LinearTicks struct{ Whole bool }

// Ticks implements [plot.Ticker].
func (t LinearTicks) Ticks(low, high float64) []plot.Tick {
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/8)))
	if t.Whole {
		unit = math.Max(unit, 1)
	}
	step := 10 * unit
	for _, times := range []float64{1, 2, 2.5, 5} {
		if (high-low)/(times*unit) <= 9 && (times != 2.5 || !t.Whole || unit > 1) {
			step = times * unit
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high*(1+1e-12); i++ {
		out = append(out, plot.Tick{Value: i * step, Label: Label(i * step)})
	}
	return out
}

// LogTicks marks 1, 2 and 5 times the powers of ten, or finer where that leaves less than four marks.
type LogTicks struct{}

// Ticks implements [plot.Ticker].
func (LogTicks) Ticks(low, high float64) (out []plot.Tick) {
	for _, times := range [][]float64{{1, 2, 5}, {1, 1.5, 2, 3, 4, 5, 6, 8}} {
		out = nil
		for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
			for _, x := range times {
				if v := x * math.Pow(10, e); v >= low && v <= high {
					out = append(out, plot.Tick{Value: v, Label: Label(v)})
				}
			}
		}
		if len(out) >= 4 {
			return out
		}
	}
	return LinearTicks{}.Ticks(low, high)
}

// Label writes 12000 as 12,000 and 0.30000000000000004 as 0.3.
func Label(x float64) string {
	x = math.Round(x*1e9)/1e9 + 0 // and -0 as 0
	if math.Abs(x) < 1e3 || x != math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	s := strconv.FormatInt(int64(x), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
