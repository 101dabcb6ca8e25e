package evaluate_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
)

// wavy is a tiny denoiser by formula, with planners by formula: those of testdata/planned.py.
type wavy struct {
	L, V int
	K    float64
	Rows []struct {
		X     []int64
		P2    map[string][4]float64 // E_D, E_MP, E_UP, log law of the chain
		PELBO map[string][4]float64 // E1, E2, corollary, log law
		TopK  map[string][2]float64 // corollary, log law
	}
}

func wavies(t *testing.T) (out []wavy) {
	goldenfile.Read(t, "testdata/planned.json.gz", &out)
	return out
}

// logProbability is the planner that asks a masked language model B for the probability of z^i in the candidate z, of which nothing
// is masked: log Cat(z^i; B^i(z)) (sheet p2, 3.3).
func logProbability(b evaluate.Network) evaluate.Scorer {
	return func(z, _ [][]int64) ([][]float64, error) {
		lp, err := b(z)
		if err != nil {
			return nil, err
		}
		out := make([][]float64, len(z))
		for r := range z {
			out[r] = make([]float64, len(z[r]))
			for i, v := range z[r] {
				if lp[r][i] != nil {
					out[r][i] = lp[r][i][v]
				}
			}
		}
		return out, nil
	}
}

func (w *wavy) sequence(x []int64) *evaluate.Sequence {
	s := &evaluate.Sequence{X0: x, Mask: int64(w.V)}
	for i := range x {
		s.Free = append(s.Free, i)
	}
	return s
}

// held sums what stands in x.
func (w *wavy) held(x []int64) (sum float64) {
	for j, v := range x {
		if int(v) != w.V {
			sum += float64(v+1) * float64(j+1)
		}
	}
	return sum
}

// network is log-softmax of a formula of position, token and what is held; the mask's own probability is 0.
func (w *wavy) network(logit func(i, v int, held float64) float64) evaluate.Network {
	return func(x [][]int64) ([][][]float64, error) {
		out := make([][][]float64, len(x))
		for b := range x {
			for i := range x[b] {
				row, sum := make([]float64, w.V+1), 0.0
				for v := range w.V {
					row[v] = logit(i, v, w.held(x[b]))
					sum += math.Exp(row[v])
				}
				for v := range w.V {
					row[v] -= math.Log(sum)
				}
				row[w.V] = math.Inf(-1)
				out[b] = append(out[b], row)
			}
		}
		return out, nil
	}
}

func (w *wavy) denoiser() evaluate.Network {
	return w.network(func(i, v int, held float64) float64 { return w.K * math.Cos(1+float64(i)+2*float64(v)+0.5*held) })
}

func (w *wavy) bert() evaluate.Scorer {
	return logProbability(w.network(func(i, v int, held float64) float64 {
		return 1.5 * math.Cos(0.3+1.7*float64(i)+1.1*float64(v)+0.7*held)
	}))
}

// wave is a planner that reads z and x everywhere.
func (w *wavy) wave(a, b, c float64) evaluate.Scorer {
	return func(z, x [][]int64) ([][]float64, error) {
		out := make([][]float64, len(z))
		for r := range z {
			phase := a
			for j := range z[r] {
				phase += b*float64(z[r][j]+1)*float64(j+2) + c*float64(x[r][j]+1)*float64(j+1)
			}
			for i := range z[r] {
				out[r] = append(out[r], math.Log(0.5+0.45*math.Cos(phase+0.9*float64(i))))
			}
		}
		return out, nil
	}
}

func (w *wavy) planners() map[string]*evaluate.P2 {
	self, bert := evaluate.G{Self: true}, evaluate.G{Score: w.bert()}
	out := map[string]*evaluate.P2{
		"wave": {GM: evaluate.G{Score: w.wave(1, 0.7, 0.3)}, GU: evaluate.G{Score: w.wave(2, 0.4, 0.6)}},
		"one":  {}, "keep": {GM: self}, "self": {GM: self, GU: self}, "bert": {GM: self, GU: bert}, "both": {GM: bert, GU: bert},
	}
	for _, p := range out {
		p.Denoiser = w.denoiser()
	}
	return out
}

func orders() map[string]evaluate.Order {
	out := map[string]evaluate.Order{"uniform": evaluate.UniformOrder{}, "greedy": evaluate.GreedyOrder{}}
	for _, tau := range []float64{0.1, 0.3, 1, 2.5} {
		name := fmt.Sprintf("soft %v", tau)
		if tau == 1 {
			name = "soft 1.0"
		}
		out[name] = evaluate.SoftGreedyOrder{Tau: tau}
	}
	return out
}

func within(t *testing.T, got, want, most float64, what string, args ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= most) {
		t.Errorf("%s: %v, want %v", fmt.Sprintf(what, args...), got, want)
	}
}

// The expanded bound of P2 by enumeration is the reference's, and bounds the exact law of the chain; self-planning has E_MP = E_D, and
// G = 1 is the plain chain.
func TestP2AgainstReference(t *testing.T) {
	for _, w := range wavies(t) {
		for _, row := range w.Rows {
			s := w.sequence(row.X)
			for name, p := range w.planners() {
				got, err := p.Exact(s)
				if err != nil {
					t.Fatal(err)
				}
				want := row.P2[name]
				for k, g := range []float64{got.ED, got.EMP, got.EUP} {
					within(t, g, want[k], 1e-9, "%d letters of %d, %v, %s: term %d", w.L, w.V, row.X, name, k)
				}
				if got.Total() > want[3]+1e-9 || got.Total() > got.ED {
					t.Errorf("%v, %s: E = %v above log P = %v or E_D = %v", row.X, name, got.Total(), want[3], got.ED)
				}
				if name != "one" && name != "wave" && name != "both" && got.EMP != got.ED {
					t.Errorf("%v, %s: E_MP = %v, want E_D = %v", row.X, name, got.EMP, got.ED)
				}
				if name == "one" && got.Total() != got.ED {
					t.Errorf("%v: E = %v, want E_D = %v", row.X, got.Total(), got.ED)
				}
			}
		}
	}
}

// Estimates have the terms by enumeration as their means: against 5.5 standard errors, of which 216 comparisons exceed one with a
// chance below 1e-5; strata make it far less.
func TestP2EstimatesAreUnbiased(t *testing.T) {
	const draws = 3000
	for _, w := range wavies(t)[1:3] {
		for _, row := range w.Rows[:3] {
			s := w.sequence(row.X)
			for name, p := range w.planners() {
				want, err := p.Exact(s)
				if err != nil {
					t.Fatal(err)
				}
				var all []evaluate.P2Terms
				for from := 0; from < draws; from += 100 {
					some, err := p.Draws(s, evaluate.P2Noise{Seed: 3, Row: 7}, from, from+100, draws)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, some...)
				}
				for what, term := range map[string]func(evaluate.P2Terms) float64{
					"E_D": func(t evaluate.P2Terms) float64 { return t.ED }, "E_MP": func(t evaluate.P2Terms) float64 { return t.EMP }, "E_UP": func(t evaluate.P2Terms) float64 { return t.EUP },
				} {
					var x []float64
					for _, one := range all {
						x = append(x, term(one))
					}
					m := evaluate.Mean(x) // of draws that are better than independent
					within(t, m.Value, term(want), 5.5*m.Error+1e-12, "%v, %s: %s", row.X, name, what)
				}
			}
		}
	}
}

// P-ELBO and its corollaries are the reference's; corollary <= E1 + E2 <= log p^G. F comes in closed form and by quadrature here, by
// enumeration of z there.
func TestPELBOAgainstReference(t *testing.T) {
	positive := false
	for _, w := range wavies(t) {
		for _, row := range w.Rows {
			s := w.sequence(row.X)
			for name, order := range orders() {
				p := &evaluate.PELBO{Denoiser: w.denoiser(), Order: order}
				got, err := p.Exact(s)
				if err != nil {
					t.Fatal(err)
				}
				want := row.PELBO[name]
				for k, g := range []float64{got.E1, got.E2, got.Corollary} {
					within(t, g, want[k], 1e-9, "%d letters of %d, %v, %s: term %d", w.L, w.V, row.X, name, k)
				}
				law, err := p.LogLikelihood(s)
				if err != nil {
					t.Fatal(err)
				}
				within(t, law, want[3], 1e-9, "%v, %s: log p^G", row.X, name)
				if got.Corollary > got.Total()+1e-9 || got.Total() > want[3]+1e-9 {
					t.Errorf("%v, %s: corollary %v, E1 + E2 = %v, log p = %v: expected ascending", row.X, name, got.Corollary, got.Total(), want[3])
				}
				positive = positive || got.E2 > 1e-3
			}
		}
	}
	if !positive {
		t.Error("no E2 is positive: the sheet says that some are, and that they are not to be clamped")
	}
}

// The bound of the top-k sampler lies between corollary A.13, which is the reference's, and the exact law.
func TestTopKAgainstReference(t *testing.T) {
	for _, w := range wavies(t) {
		for _, row := range w.Rows {
			for name, want := range row.TopK {
				p := &evaluate.TopK{Denoiser: w.denoiser()}
				if _, err := fmt.Sscan(name, &p.Eta); err != nil {
					t.Fatal(err)
				}
				got, err := p.Exact(w.sequence(row.X))
				if err != nil {
					t.Fatal(err)
				}
				within(t, got.Corollary, want[0], 1e-9, "%v, eta %s: A.13", row.X, name)
				if got.Corollary > got.Total()+1e-9 || got.Total() > want[1]+1e-9 {
					t.Errorf("%v, eta %s: A.13 %v, E1 + E2 = %v, log p = %v: expected ascending", row.X, name, got.Corollary, got.Total(), want[1])
				}
			}
		}
	}
}

// Uniform orders have E2 = 0 and E1 = E_unif, which is log p of an exact posterior. Paths that are drawn have the exact terms as
// their means: against 5.5 standard errors, with a false alarm in 100,000.
func TestPELBOIdentities(t *testing.T) {
	for _, toy := range toys(t) {
		if toy.N < 2 {
			continue
		}
		w := wavy{L: toy.N, V: toy.M}
		denoise := func(x [][]int64) ([][][]float64, error) {
			out := make([][][]float64, len(x))
			for b := range x {
				mu, err := toy.denoise(x[b])
				if err != nil {
					return nil, err
				}
				for i := range mu {
					if x[b][i] != int64(toy.M) {
						mu = slices.Clone(mu)
						mu[i] = make([]float64, toy.M)
					}
				}
				out[b] = mu
			}
			return out, nil
		}
		for _, row := range toy.Rows {
			s := w.sequence(row.X)
			p := &evaluate.PELBO{Denoiser: denoise, Order: evaluate.UniformOrder{}}
			got, err := p.Exact(s)
			if err != nil {
				t.Fatal(err)
			}
			within(t, got.E1, row.ELBO, 1e-9, "%s %v: E1", toy.Name, row.X)
			within(t, got.E2, 0, 1e-12, "%s %v: E2", toy.Name, row.X)
			plain, err := (&evaluate.P2{Denoiser: denoise}).Exact(s)
			if err != nil {
				t.Fatal(err)
			}
			within(t, plain.ED, row.ELBO, 1e-9, "%s %v: E_D", toy.Name, row.X)
			if toy.Posterior {
				within(t, got.E1, row.LogLik, 1e-9, "%s %v: E_unif of an exact posterior", toy.Name, row.X)
			}
		}
	}
	w := wavies(t)[1]
	s := w.sequence(w.Rows[2].X)
	for name, order := range orders() {
		p := &evaluate.PELBO{Denoiser: w.denoiser(), Order: order}
		want, err := p.Exact(s)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Draws(s, 5, 1, 0, 2000)
		if err != nil {
			t.Fatal(err)
		}
		var e1, total, low []float64
		for _, one := range all {
			e1, total, low = append(e1, one.E1), append(total, one.Total()), append(low, one.Corollary)
		}
		for k, x := range [][]float64{e1, total, low} {
			m := evaluate.Mean(x)
			within(t, m.Value, []float64{want.E1, want.Total(), want.Corollary}[k], 5.5*m.Error+1e-9, "%s: mean of paths, number %d", name, k)
		}
	}
}

// An impossible token makes bounds infinite, never NaN; rows without free positions have none.
func TestPlannedExtremes(t *testing.T) {
	inf := math.Inf(-1)
	never := func(x [][]int64) ([][][]float64, error) {
		return slices.Repeat([][][]float64{{{inf, 0, inf}, {0, inf, inf}}}, len(x)), nil
	}
	s := &evaluate.Sequence{X0: []int64{0, 0}, Free: []int{0, 1}, Mask: 2}
	for name, order := range orders() {
		for _, one := range []*evaluate.Sequence{s, {X0: s.X0, Mask: 2}} {
			got, err := (&evaluate.PELBO{Denoiser: never, Order: order}).Exact(one)
			if err != nil {
				t.Fatal(err)
			}
			law, err := (&evaluate.PELBO{Denoiser: never, Order: order}).LogLikelihood(one)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[int]float64{2: inf, 0: 0}[len(one.Free)]; got.Total() != want || got.Corollary != want || law != want {
				t.Errorf("%s: %+v, log p %v, want %v", name, got, law, want)
			}
		}
	}
	p := &evaluate.P2{Denoiser: never, GM: evaluate.G{Self: true}, GU: evaluate.G{Self: true}}
	if got, err := p.Exact(s); err != nil || got.Total() != inf {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := p.Draws(&evaluate.Sequence{X0: s.X0, Mask: 2}, evaluate.P2Noise{}, 0, 2, 2); err != nil || got[1].Total() != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := (&evaluate.TopK{Denoiser: never, Eta: 1}).Exact(s); err != nil || got.Total() != inf {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPlannedRefusals(t *testing.T) {
	w := wavy{L: 2, V: 2, K: 1}
	long := w.sequence(make([]int64, 17))
	p2 := &evaluate.P2{Denoiser: w.denoiser(), GU: evaluate.G{Score: w.bert()}}
	positive := &evaluate.P2{Denoiser: w.denoiser(), GU: evaluate.G{Score: func(z, _ [][]int64) ([][]float64, error) {
		return slices.Repeat([][]float64{{1, 1}}, len(z)), nil
	}}}
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"order":      {func() error { _, err := p2.Exact(&evaluate.Sequence{X0: []int64{0, 0}, Free: []int{1, 0}}); return err }, "expected ascending positions"},
		"long":       {func() error { _, err := p2.Exact(long); return err }, "17 free positions: expected at most 16"},
		"candidates": {func() error { _, err := p2.Exact(w.sequence(make([]int64, 14))); return err }, "candidates z of 14 free positions"},
		"paths": {func() error {
			_, err := (&evaluate.PELBO{Denoiser: w.denoiser(), Order: evaluate.UniformOrder{}}).Exact(long)
			return err
		}, "17 free positions"},
		"eta":    {func() error { _, err := (&evaluate.TopK{Denoiser: w.denoiser()}).Exact(long); return err }, "eta is 0"},
		"token":  {func() error { _, err := p2.Exact(w.sequence([]int64{0, 9})); return err }, "no log-probability of token 9"},
		"no log": {func() error { _, err := positive.Exact(w.sequence([]int64{0, 1})); return err }, "expected a log-probability"},
	} {
		if err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
