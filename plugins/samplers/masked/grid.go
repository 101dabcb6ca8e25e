package masked

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// grid returns the time at which step i of n begins, 0 <= i <= n, which is where step i-1 ends. Times fall from 1.
type grid func(i, n int) float64

// linear is 1 - i/n (MD4, section 2).
func linear(i, n int) float64 { return 1 - float64(i)/float64(n) }

// cosine is cos(pi/2 i/n) (MD4, section 4): with alpha = 1 - t the same alphas as those of the cosine noise schedule on
// the linear grid.
func cosine(i, n int) float64 {
	if i >= n {
		return 0
	}
	return math.Cos(math.Pi / 2 * float64(i) / float64(n))
}

// dream is linspace(1, eps, n+1).
func dream(eps float64) grid {
	return func(i, n int) float64 { return 1 + (eps-1)*float64(i)/float64(n) }
}

// mdlm is linspace(1, eps, n) and then 0: n-1 steps of MDLM and its noise removal.
func mdlm(eps float64) grid {
	return func(i, n int) float64 {
		if i >= n {
			return 0
		}
		return 1 + (eps-1)*float64(i)/float64(max(n-1, 1))
	}
}

func gridOf(o Options) grid {
	eps := func(own float64) float64 {
		if o.Eps == 0 {
			return own
		}
		return o.Eps
	}
	switch o.Grid {
	case "cosine":
		return cosine
	case "mdlm":
		return mdlm(eps(1e-5))
	case "dream":
		return dream(eps(1e-3))
	}
	return linear
}

// advance places the row's next step on the grid, with all steps after it; alpha = 1 - t (the linear noise schedule). A
// planner that asked for another time is obeyed for one step.
func (g grid) advance(r sampling.RowState) sampling.Advance {
	n := max(r.Steps, 1)
	a := sampling.Advance{Slot: r.Slot, T: g(min(r.Step, n), n), S: g(min(r.Step+1, n), n)}
	if r.NextT > 0 {
		a.S = max(0, r.NextT-(a.T-a.S))
		a.T = r.NextT
	}
	a.AlphaT, a.AlphaS = 1-a.T, 1-a.S
	for i := r.Step + 2; i <= r.Steps && r.NextT == 0; i++ {
		t := g(i, n)
		a.Ahead = append(a.Ahead, sampling.Time{T: t, Alpha: 1 - t})
	}
	return a
}
