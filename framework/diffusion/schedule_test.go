package diffusion_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/diffusion"
)

func drawSchedule(t *rapid.T) *diffusion.Schedule {
	spec := diffusion.Spec{
		Kind: rapid.SampledFrom(diffusion.Kinds()).Draw(t, "kind"),
		C:    rapid.Float64Range(0.3, 6).Draw(t, "c"),
		BMin: math.Exp(rapid.Float64Range(-12, -1).Draw(t, "log b_min")),
		BMax: math.Exp(rapid.Float64Range(0, 3.5).Draw(t, "log b_max")),
		Eps:  rapid.SampledFrom([]float64{0, 1e-6, 1e-4, 1e-2, 0.3}).Draw(t, "eps"),
	}
	s, err := spec.New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScheduleProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		at := rapid.Float64Range(0.001, 0.999).Draw(t, "t")
		later := rapid.Float64Range(at, 1).Draw(t, "later")
		u, slope := s.U(at), -s.AlphaPrime(at)

		if !(u >= 0 && u <= 1) || u > s.U(later)*(1+1e-15) {
			t.Fatalf("%s: U(%v) = %v, U(%v) = %v: not a rising probability", s, at, u, later, s.U(later))
		}
		if got := u + s.Alpha(at); math.Abs(got-1) > 4e-16 {
			t.Fatalf("%s: U + Alpha = %v at %v", s, got, at)
		}
		// A rounding of u moves the time by itself over the slope.
		if back := s.Inverse(u); math.Abs(back-at) > 1e-12+4e-16/slope {
			t.Fatalf("%s: Inverse(U(%v)) = %v", s, at, back)
		}
		// Central differences: truncation h^2 u'''/6 is far below the bound for these exponents, rounding is 1e-16/h.
		h := at * 1e-5
		h = min(h, (1-at)*1e-2)
		if fd := (s.U(at+h) - s.U(at-h)) / (2 * h); math.Abs(fd-slope) > 1e-6*slope+1e-15/h {
			t.Fatalf("%s: slope of U at %v is %v, -AlphaPrime %v", s, at, fd, slope)
		}
		if w := s.Weight(at); math.Abs(w-slope/u) > 1e-13*w {
			t.Fatalf("%s: Weight(%v) = %v, -alpha'/(1-alpha) = %v", s, at, w, slope/u)
		}
		if got := 1 / (1 + math.Exp(-s.LogSNR(at))); math.Abs(got-s.Alpha(at)) > 1e-13 {
			t.Fatalf("%s: sigmoid of LogSNR(%v) = %v, Alpha %v", s, at, got, s.Alpha(at))
		}
		if r := s.Rho(at, later); !(r >= 0 && r <= 1) || math.Abs(r-(s.U(later)-u)/s.U(later)) > 1e-13 {
			t.Fatalf("%s: Rho(%v, %v) = %v", s, at, later, r)
		}
		// A step's weight per unit of time tends to the continuous one.
		if d := 1e-7 * at; math.Abs(s.Rho(at-d, at)/d-s.Weight(at)) > 1e-4*s.Weight(at)*(1+s.Spec().BMax) {
			t.Fatalf("%s: Rho/dt = %v at %v, Weight %v", s, s.Rho(at-d, at)/d, at, s.Weight(at))
		}
	})
}

func TestScheduleEnds(t *testing.T) {
	for _, spec := range []diffusion.Spec{{}, {Kind: "linear"}, {Kind: "polynomial", C: 0.5}, {Kind: "polynomial", C: 3}, {Kind: "cosine"}} {
		s := mustNew(t, spec)
		if s.U(0) != 0 || s.U(1) != 1 || s.Alpha(0) != 1 || s.Alpha(1) != 0 || s.Rho(0, 0.3) != 1 || s.Rho(0, 0) != 0 {
			t.Errorf("%s: ends are not exact: u %v %v, alpha %v %v, rho(0, .3) %v, rho(0, 0) %v",
				s, s.U(0), s.U(1), s.Alpha(0), s.Alpha(1), s.Rho(0, 0.3), s.Rho(0, 0))
		}
		if !math.IsInf(s.Weight(0), 1) || !math.IsInf(s.LogSNR(0), 1) || !math.IsInf(s.LogSNR(1), -1) {
			t.Errorf("%s: Weight(0) %v, LogSNR %v to %v, want infinities", s, s.Weight(0), s.LogSNR(0), s.LogSNR(1))
		}
		if s.Inverse(-1) != 0 || s.Inverse(0) != 0 || s.Inverse(1) != 1 || s.Inverse(2) != 1 {
			t.Errorf("%s: Inverse does not end at 0 and 1", s)
		}
	}
	if s := mustNew(t, diffusion.Spec{Eps: 1e-4}); math.Abs(s.Weight(0)-(1-2e-4)/1e-4) > 1e-9 || s.U(0) != 1e-4 {
		t.Errorf("%s: Weight(0) = %v, U(0) = %v", s, s.Weight(0), s.U(0))
	}
}

// On the linear schedule the cosine grid visits the alphas of the cosine schedule on the uniform grid (MD4 section 4).
func TestCosineGridIsCosineSchedule(t *testing.T) {
	g, err := diffusion.NewGrid("cosine", 10)
	if err != nil {
		t.Fatal(err)
	}
	c := mustNew(t, diffusion.Spec{Kind: "cosine"})
	for i, at := range g {
		if math.Abs(at-c.U(float64(i)/10)) > 1e-15 {
			t.Errorf("t(%d) = %v, u of the cosine schedule %v", i, at, c.U(float64(i)/10))
		}
	}
}

func TestGrids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		T := rapid.IntRange(1, 3000).Draw(t, "T")
		g, err := diffusion.NewGrid(rapid.SampledFrom(diffusion.Grids()).Draw(t, "kind"), T)
		if err != nil || g.T() != T {
			t.Fatalf("T %d: %d steps, error %v", T, g.T(), err)
		}
	})
	for _, c := range []struct {
		g    diffusion.Grid
		want string
	}{
		{diffusion.Grid{0, 0.2, 1}, ""},
		{nil, "at least two times"},
		{diffusion.Grid{0, 0.5}, "the last 1"},
		{diffusion.Grid{0, 0.5, 0.5, 1}, "time 2 is 0.5 after 0.5"},
		{diffusion.Grid{0, math.NaN(), 1}, "time 1 is NaN"},
	} {
		if err := c.g.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("grid %v: error %v, want %q", c.g, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	spec := func(s diffusion.Spec) error { _, err := s.New(); return err }
	grid := func(kind string, T int) error { _, err := diffusion.NewGrid(kind, T); return err }
	sampler := func(name string) error { _, err := diffusion.ParseTimeSampler(name); return err }
	nan := math.NaN()
	for _, c := range []struct {
		err  error
		want string
	}{
		{spec(diffusion.Spec{Kind: "Linaer"}), `schedule.kind "Linaer": did you mean "linear"? Expected one of linear, polynomial, cosine, geometric`},
		{spec(diffusion.Spec{Kind: "xyzzy"}), `schedule.kind "xyzzy": expected one of linear`},
		{spec(diffusion.Spec{Kind: "kumaraswamy", A: 1}), `schedule.kind "kumaraswamy"`},
		{spec(diffusion.Spec{Kind: "polynomial"}), "schedule.c 0: a polynomial schedule needs a finite c > 0"},
		{spec(diffusion.Spec{Kind: "polynomial", C: nan}), "schedule.c NaN"},
		{spec(diffusion.Spec{Kind: "polynomial", C: math.Inf(1)}), "schedule.c +Inf"},
		{spec(diffusion.Spec{Kind: "geometric", BMin: 2, BMax: 1}), "1e-100 <= b_min < b_max <= 1e100"},
		{spec(diffusion.Spec{Kind: "geometric", BMin: 1, BMax: math.Inf(1)}), "1e-100 <= b_min < b_max <= 1e100"},
		{spec(diffusion.Spec{Eps: 0.5}), "schedule.eps 0.5: expected 0 <= eps < 0.5"},
		{spec(diffusion.Spec{Eps: nan}), "schedule.eps NaN"},
		{grid("cosin", 4), `time grid "cosin": did you mean "cosine"?`},
		{grid("uniform", 0), "0 steps: expected at least 1"},
		{sampler("shared-offset"), `time sampler "shared-offset": did you mean "shared_offset"?`},
		{diffusion.PAPL{Form: "papr"}.Check(), `papl form "papr": did you mean "paper"?`},
		{diffusion.PAPL{Form: diffusion.Paper, Alpha: -1}.Check(), "papl alpha -1"},
		{diffusion.PAPL{Form: diffusion.Paper, Tau: nan}.Check(), "papl tau NaN"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for want, spec := range map[string]diffusion.Spec{
		"linear":                           {},
		"polynomial(c=3, eps=0.0001)":      {Kind: "polynomial", C: 3, Eps: 1e-4},
		"geometric(b_min=1e-05, b_max=20)": {Kind: "geometric", BMin: 1e-5, BMax: 20},
	} {
		if got := mustNew(t, spec).String(); got != want {
			t.Errorf("%+v: %q, want %q", spec, got, want)
		}
	}
	for _, name := range diffusion.TimeSamplers() {
		if s, err := diffusion.ParseTimeSampler(name); err != nil || string(s) != name {
			t.Errorf("time sampler %q: %q, %v", name, s, err)
		}
	}
}
