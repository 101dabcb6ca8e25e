package insertion

import "math"

// The grids of times.
const (
	GridClock   = "clock"   // U evenly from 0 to UMax, so that t = 1 is approached geometrically
	GridCode    = "code"    // t = k (1 - 1e-5) / (N + 1), as in the public samplers of FlexMDM and LoFlexMDM
	GridUniform = "uniform" // t = k / N
)

// Grid places the N steps of a trajectory.
type Grid struct {
	Kind string  // GridClock, GridCode or GridUniform
	A    float64 // of the clock
	UMax float64 // of GridClock: where it ends; 0 stands for log N + 4
}

// Moment is a point of time.
type Moment struct {
	U    float64 // the clock
	Left float64 // 1 - t
}

// End is the clock at which a grid of n steps in U ends.
func (g Grid) End(n int) float64 {
	if g.UMax > 0 {
		return g.UMax
	}
	return math.Log(float64(n)) + 4
}

// At returns the moment at which step k of n begins, 0 <= k <= n, which is where step k-1 ends.
func (g Grid) At(k, n int) Moment {
	switch x := float64(k); g.Kind {
	case GridCode:
		return g.time(x * (1 - 1e-5) / float64(n+1))
	case GridUniform:
		return g.time(x / float64(n))
	default:
		return g.AtClock(x / float64(n) * g.End(n))
	}
}

// AtClock returns the moment at which the clock shows u.
func (g Grid) AtClock(u float64) Moment { return Moment{U: u, Left: Left(u, g.A)} }

func (g Grid) time(t float64) Moment { return Moment{U: Clock(t, g.A), Left: 1 - t} }
