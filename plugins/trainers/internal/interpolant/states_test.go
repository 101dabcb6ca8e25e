package interpolant

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
)

// TestLogProbabilitiesOfStates holds log P of each state, and its slopes by both speeds, against package insertion and its differences:
// equal speeds, almost equal ones, speeds far apart, early and late times.
func TestLogProbabilitiesOfStates(t *testing.T) {
	g := graph.NewBuilder("log p", graph.DefaultOpset)
	at := func(name string, typ graph.Type) graph.Value { return g.Input(name, typ, graph.Dims("B", 1)...) }
	u, state := at("u", graph.Float32), at("state", graph.Int64)
	bIn, bUm := at("b_in", graph.Float32), at("b_um", graph.Float32)
	is := func(s int64) graph.Value { return g.Equal(state, g.Int(s)) }
	r := Rows{g: g, k: 1, U: g.Cast(u, graph.Float64), Free: g.LessOrEqual(state, g.Int(insertion.Clean))}
	logp := g.Cast(r.LogP(States{Dropped: is(insertion.Dropped), Masked: is(insertion.Masked)}, bIn, bUm), graph.Float32)
	slopes, err := autodiff.Gradients(g, g.ReduceSum(logp, false), []graph.Value{bIn, bUm}, autodiff.Options{})
	if err != nil {
		t.Fatal(err)
	}
	outputs := []graph.Output{{Name: "logp", Value: logp}, {Name: "in", Value: slopes[0]}, {Name: "um", Value: slopes[1]}}
	const n = 3
	run := try.Program(t, g, outputs, map[string]int64{"B": n}, 1)
	speed := rapid.Custom(func(t *rapid.T) float64 {
		return float64(float32(math.Exp(rapid.Float64Range(-4, 6).Draw(t, "log speed"))))
	})
	rapid.Check(t, func(t *rapid.T) {
		u := float64(float32(math.Exp(rapid.Float64Range(math.Log(1e-4), math.Log(14)).Draw(t, "log u"))))
		x := speed.Draw(t, "b_in")
		y := rapid.OneOf(speed, rapid.Just(x), rapid.Just(float64(float32(x*(1+1e-4))))).Draw(t, "b_um")
		feeds := map[string][]float64{}
		for s := range n {
			for name, v := range map[string]float64{"u": u, "state": float64(s), "b_in": x, "b_um": y} {
				feeds[name] = append(feeds[name], v)
			}
		}
		got := run(feeds)
		want := func(s int, x, y float64) float64 {
			drop, mask, clean := insertion.StateLogProbabilities(u, x, y)
			return [n]float64{drop, mask, clean}[s]
		}
		close := func(what string, s int, got float32, want, scale float64) {
			if !(math.Abs(float64(got)-want) <= 1e-5*scale) {
				t.Errorf("u %v, b_in %v, b_um %v, state %d: %s is %v, want %v", u, x, y, s, what, got, want)
			}
		}
		for s := range n {
			close("log P", s, got["logp"][s], want(s, x, y), max(1, math.Abs(want(s, x, y))))
			hx, hy := 1e-4*min(x, 1/u), 1e-4*min(y, 1/u) // log P bends over 1/u where the speeds are nearly equal
			dx, dy := (want(s, x+hx, y)-want(s, x-hx, y))/(2*hx), (want(s, x, y+hy)-want(s, x, y-hy))/(2*hy)
			// Both slopes are sums of terms of the sizes 1/b and u, of which differences know about eight digits.
			close("its slope by b_in", s, got["in"][s], dx, 10*(1/x+u))
			close("its slope by b_um", s, got["um"][s], dy, 10*(1/y+u))
		}
	})
}
