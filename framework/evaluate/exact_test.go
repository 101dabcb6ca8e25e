package evaluate_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
)

type toy struct {
	Name      string
	N, M      int
	Posterior bool
	LogMu     map[string][][]float64
	Rows      []struct {
		X                   []int64
		Bound, ELBO, LogLik float64
		Integrand           [][2]float64
		Finite              []struct {
			Schedule diffusion.Spec
			Grid     string
			T        int
			Bound    float64
		}
	}
}

func (t toy) denoise(z []int64) ([][]float64, error) {
	mu, ok := t.LogMu[strings.Trim(strings.ReplaceAll(fmt.Sprint(z), " ", ""), "[]")]
	if !ok {
		return nil, errors.New("state without a mask")
	}
	return mu, nil
}

func toys(t *testing.T) (out []toy) {
	goldenfile.Read(t, "testdata/exact.json.gz", &out)
	return out
}

func near(t *testing.T, got, want float64, what string, args ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1e-3, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

func TestAgainstReference(t *testing.T) {
	for _, toy := range toys(t) {
		if len(toy.Rows) == 0 {
			t.Fatalf("%s: no rows", toy.Name)
		}
		for _, row := range toy.Rows {
			e, err := evaluate.Enumerate(row.X, nil, int64(toy.M), toy.denoise)
			if err != nil {
				t.Fatal(err)
			}
			near(t, e.Bound(), row.Bound, "%s %v: bound", toy.Name, row.X)
			near(t, e.UniformELBO(), row.ELBO, "%s %v: uniform ELBO", toy.Name, row.X)
			near(t, e.LogLikelihood(), row.LogLik, "%s %v: log-likelihood", toy.Name, row.X)
			for _, g := range row.Integrand {
				near(t, e.Integrand(g[0]), g[1], "%s %v: integrand at %v", toy.Name, row.X, g[0])
			}
			for _, f := range row.Finite {
				s, err := f.Schedule.New()
				if err != nil {
					t.Fatal(err)
				}
				grid, err := diffusion.NewGrid(f.Grid, f.T)
				if err != nil {
					t.Fatal(err)
				}
				near(t, e.FiniteBound(s, grid), f.Bound, "%s %v: %s, %s grid of %d", toy.Name, row.X, s, f.Grid, f.T)
			}
			if toy.Posterior {
				near(t, e.Bound(), -e.LogLikelihood(), "%s %v: the exact posterior's bound", toy.Name, row.X)
			}
		}
	}
}

// arbitrary is a denoiser of random log-probabilities, drawn when first asked for a state.
func arbitrary(t *rapid.T, n, m int) evaluate.Denoise {
	seen := map[string][][]float64{}
	return func(z []int64) ([][]float64, error) {
		key := fmt.Sprint(z)
		if seen[key] == nil {
			for range n {
				row, sum := make([]float64, m), 0.0
				for v := range row {
					row[v] = rapid.Float64Range(0.01, 1).Draw(t, "mu")
					sum += row[v]
				}
				for v := range row {
					row[v] = math.Log(row[v] / sum)
				}
				seen[key] = append(seen[key], row)
			}
		}
		return seen[key], nil
	}
}

// The bound is one for any denoiser; the finite-T bound tends to it whatever the schedule; the mean of the integrand is it.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 4).Draw(t, "n"), rapid.IntRange(2, 3).Draw(t, "m")
		x := rapid.SliceOfN(rapid.Int64Range(0, int64(m-1)), n, n).Draw(t, "x")
		e, err := evaluate.Enumerate(x, nil, int64(m), arbitrary(t, n, m))
		if err != nil {
			t.Fatal(err)
		}
		bound := e.Bound()
		if bound < -e.LogLikelihood()-1e-12 {
			t.Fatalf("bound %v below -log p = %v", bound, -e.LogLikelihood())
		}
		s, _ := diffusion.Spec{Kind: rapid.SampledFrom([]string{"linear", "cosine"}).Draw(t, "kind")}.New()
		grid, _ := diffusion.NewGrid("uniform", 4000)
		if got := e.FiniteBound(s, grid); math.Abs(got-bound) > 5e-3*bound {
			t.Fatalf("%s: L_4000 = %v far from L_inf = %v", s, got, bound)
		}
		mid := 0.0
		for i := range 2000 {
			mid += e.Integrand((float64(i)+0.5)/2000) / 2000
		}
		if math.Abs(mid-bound) > 1e-5*bound {
			t.Fatalf("integral of g is %v, bound %v", mid, bound)
		}
	})
}

// Target positions alone are masked, and a conditional likelihood is the joint's over the context's.
func TestTargets(t *testing.T) {
	var all []toy
	for _, toy := range toys(t) {
		if toy.Posterior && toy.N == 3 {
			all = append(all, toy)
		}
	}
	toy := all[0]
	x := toy.Rows[1].X
	e, err := evaluate.Enumerate(x, []int{0, 2}, int64(toy.M), func(z []int64) ([][]float64, error) {
		if z[1] != x[1] {
			t.Errorf("context was masked: %v", z)
		}
		return toy.denoise(z)
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, _ := evaluate.Enumerate(x, nil, int64(toy.M), toy.denoise)
	alone, _ := toy.denoise([]int64{int64(toy.M), int64(toy.M), int64(toy.M)})
	near(t, e.LogLikelihood(), whole.LogLikelihood()-alone[1][x[1]], "conditional log-likelihood")
	near(t, e.Bound(), -e.LogLikelihood(), "conditional bound")

	none, err := evaluate.Enumerate(x, []int{}, int64(toy.M), toy.denoise)
	if err != nil || none.Bound() != 0 || none.LogLikelihood() != 0 {
		t.Errorf("no targets: bound %v, log-likelihood %v, error %v, want 0", none.Bound(), none.LogLikelihood(), err)
	}
}

// A token of probability zero costs infinitely much, not NaN.
func TestImpossible(t *testing.T) {
	e, err := evaluate.Enumerate([]int64{0, 0}, nil, 2, func([]int64) ([][]float64, error) {
		return [][]float64{{math.Inf(-1), 0}, {0, math.Inf(-1)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := diffusion.Spec{}.New()
	grid, _ := diffusion.NewGrid("uniform", 3)
	if b, f, l := e.Bound(), e.FiniteBound(s, grid), e.LogLikelihood(); !math.IsInf(b, 1) || !math.IsInf(f, 1) || !math.IsInf(l, -1) {
		t.Errorf("bound %v, L_3 %v, log-likelihood %v, want +Inf, +Inf, -Inf", b, f, l)
	}
}

func TestRefusals(t *testing.T) {
	fails := errors.New("device lost")
	ok := func([]int64) ([][]float64, error) { return [][]float64{{0}, {0}}, nil }
	for name, c := range map[string]struct {
		x0      []int64
		targets []int
		denoise evaluate.Denoise
		want    string
	}{
		"too long":       {make([]int64, 17), nil, ok, "17 target positions: expected at most 16"},
		"outside":        {[]int64{0, 0}, []int{2}, ok, "target position 2"},
		"twice":          {[]int64{0, 0}, []int{1, 1}, ok, "at most once"},
		"denoiser fails": {[]int64{0, 0}, nil, func([]int64) ([][]float64, error) { return nil, fails }, "device lost"},
		"token too high": {[]int64{0, 1}, nil, ok, "token 1 at position 1"},
		"too few rows":   {[]int64{0, 0, 0}, nil, ok, "position 2"},
	} {
		_, err := evaluate.Enumerate(c.x0, c.targets, 2, c.denoise)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := evaluate.Enumerate([]int64{0}, nil, 2, func([]int64) ([][]float64, error) { return nil, fails }); !errors.Is(err, fails) {
		t.Errorf("error %v does not wrap the denoiser's", err)
	}
}
