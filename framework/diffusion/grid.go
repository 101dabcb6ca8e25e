package diffusion

import (
	"fmt"
	"math"
)

// Grid is a time grid 0 = t(0) < t(1) < ... < t(T) = 1 of T steps (sheet md4 3.7).
type Grid []float64

// T is the number of steps.
func (g Grid) T() int { return len(g) - 1 }

// Grids lists the kinds of grid that [NewGrid] makes.
func Grids() []string { return []string{"uniform", "cosine"} }

// NewGrid returns a grid of T steps: uniform, t(i) = i/T, or cosine, t(i) = cos(pi/2 (1 - i/T)). Under the linear schedule
// the cosine grid visits the alphas that the cosine schedule has on the uniform grid.
func NewGrid(kind string, T int) (Grid, error) {
	if T < 1 {
		return nil, fmt.Errorf("time grid: %d steps: expected at least 1", T)
	}
	at := func(x float64) float64 { return x }
	switch kind {
	case "uniform":
	case "cosine":
		at = func(x float64) float64 { return math.Sin(math.Pi / 2 * x) } // small times keep their digits
	default:
		return nil, unknown("time grid", kind, Grids())
	}
	g := make(Grid, T+1)
	for i := range g {
		g[i] = at(float64(i) / float64(T))
	}
	return g, g.Check()
}

// Check holds a grid of one's own against the contract of [Grid] and names the first time that breaks it. A cosine grid of
// more than about 10^8 steps fails too: its last times coincide in float64.
func (g Grid) Check() error {
	if len(g) < 2 || g[0] != 0 || g[len(g)-1] != 1 {
		return fmt.Errorf("time grid: expected at least two times, the first 0 and the last 1; add what is missing")
	}
	for i := 1; i < len(g); i++ {
		if !(g[i] > g[i-1]) {
			return fmt.Errorf("time grid: time %d is %v after %v: expected times that rise; sort them and drop doubles", i, g[i], g[i-1])
		}
	}
	return nil
}
