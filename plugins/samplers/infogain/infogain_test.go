package infogain_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/infogain"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// model serves logits of a Go function; its last token is the mask.
type model struct {
	v       int
	seed    uint64
	flat    bool // all tokens equal everywhere
	maxRows int
	head    sampling.Head
	batch   sampling.Batch
	stats   sampling.Statistics
	passes  [][]int64 // tokens of the forward passes
}

func (m *model) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Padding: true, V: m.v + 1, Runtime: "go", Provider: "cpu", MaxRows: m.maxRows,
		Serves: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, Entropy: sampling.OnModel}}
}

func (m *model) Configure(_ context.Context, h sampling.Head) error { m.head = h; return nil }

func (m *model) Batch(b, l int) (*sampling.Batch, error) {
	if m.maxRows > 0 && b > m.maxRows {
		return nil, fmt.Errorf("%d rows in a pass of at most %d", b, m.maxRows)
	}
	m.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l), Time: make([]float32, b)}
	return &m.batch, nil
}

func (m *model) Run(context.Context) (*sampling.Statistics, error) {
	b, l, width := m.batch.B, m.batch.L, m.v+1
	logits := make([]float32, b*l*width)
	for row := range b {
		n := 0
		for n < l && m.batch.Attention[row*l+n] == 1 {
			n++
		}
		tokens := m.batch.Tokens[row*l : row*l+n]
		m.passes = append(m.passes, slices.Clone(tokens))
		m.logits(tokens, logits[row*l*width:(row*l+n)*width])
	}
	return &m.stats, sampling.Compute(logits, width, &m.batch, m.head, &m.stats)
}

// logits fills those of one row [L, V+1], a function of its tokens.
func (m *model) logits(tokens []int64, out []float32) {
	h := m.seed
	for _, x := range tokens {
		h = (h ^ uint64(x)) * 1099511628211
	}
	rng := rand.New(rand.NewPCG(h, 1))
	for j := range tokens {
		z := out[j*(m.v+1) : (j+1)*(m.v+1)]
		for k := range m.v {
			if z[k] = float32(2 * rng.NormFloat64()); m.flat {
				z[k] = 0
			}
		}
		z[m.v] = 100 // the mask's own logit must never matter
	}
}

func (m *model) Close() error { return nil }

// run samples rows through the host's loop with a planner that nobody asks.
func run(t interface {
	Context() context.Context
	Fatal(args ...any)
}, m *model, options string, batch int, requests []sampling.Request) (map[int64]sampling.Result, sampling.Accounts) {
	s := infogain.New()
	needs, err := s.Start(t.Context(), sampling.Run{Options: []byte(options)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Configure(t.Context(), sampling.Head{Needs: needs, Suppress: []int32{int32(m.v)}}); err != nil {
		t.Fatal(err)
	}
	out, next := map[int64]sampling.Result{}, 0
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: m, SamplerName: "infogain", SamplerNeeds: needs, Seed: m.seed,
		Planner: sdk.NewPlanner("idle", func(struct{}) sdk.PlanRow { panic("the planner is not asked") }),
		MaskID:  int32(m.v), V: m.v, Rows: batch,
		Next: func() (sampling.Request, bool) {
			if next++; next > len(requests) {
				return sampling.Request{}, false
			}
			return requests[next-1], true
		},
		Sink: func(r sampling.Result) error { out[r.Index] = r; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err = s.Sample(t.Context(), loop); err == nil {
		err = loop.Done()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, loop.Accounts()
}

// Whatever the options and rows: a run ends within its steps, writes no mask, leaves what is given, and a row is a function
// of the seed and itself, also in its forward passes, however many rows a pass takes.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{v: rapid.IntRange(2, 5).Draw(rt, "tokens"), seed: rapid.Uint64().Draw(rt, "seed"), flat: rapid.IntRange(0, 4).Draw(rt, "flat") == 0,
			maxRows: rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "max rows")}
		candidates := rapid.IntRange(1, 6).Draw(rt, "candidate_number")
		options := fmt.Sprintf(`{"candidate_number":%d,"position_temperature":%g,"k":%d,"threshold":%g,"variant":%q}`, candidates,
			rapid.SampledFrom([]float64{0, 0.1, 5}).Draw(rt, "position_temperature"), rapid.IntRange(1, 4).Draw(rt, "k"),
			rapid.SampledFrom([]float64{0, 0.8}).Draw(rt, "threshold"), rapid.SampledFrom([]string{"info_gain", "lookum"}).Draw(rt, "variant"))
		temperature := rapid.SampledFrom([]float32{0, 1, 5}).Draw(rt, "temperature")
		var requests []sampling.Request
		for i := range rapid.IntRange(1, 4).Draw(rt, "rows") {
			n := rapid.SampledFrom([]int{1, 2, 5, 9}).Draw(rt, "length")
			r := sampling.Request{Index: int64(7 * i), Steps: rapid.IntRange(0, 2*n).Draw(rt, "steps"), Params: sampling.Params{Temperature: temperature, TopP: 1}}
			for range n {
				r.Tokens = append(r.Tokens, int32(rapid.IntRange(0, m.v).Draw(rt, "token")))
			}
			requests = append(requests, r)
		}
		together, accounts := run(rt, &m, options, rapid.IntRange(1, 4).Draw(rt, "batch"), requests)
		nfe := 0
		for _, r := range requests {
			got, blanks := together[r.Index], 0
			for i, token := range r.Tokens {
				if int(token) == m.v {
					blanks++
				}
				if now := got.Tokens[i]; now < 0 || int(now) >= m.v || now != token && int(token) < m.v {
					rt.Fatalf("%s: position %d changed from %d to %d", options, i, token, now)
				}
			}
			steps := min(max(r.Steps, 0), blanks)
			if r.Steps == 0 {
				steps = blanks
			}
			if nfe += got.NFE; got.Steps > max(r.Steps, blanks) || got.NFE > steps*(candidates+1) || got.Revised > 0 || got.Finish != sampling.FinishComplete {
				rt.Fatalf("%s: %d steps, %d forwards and %d revisions for %d blanks in at most %d steps; ended as %s", options, got.Steps, got.NFE, got.Revised, blanks, steps, got.Finish)
			}
			alone := m
			first, _ := run(rt, &alone, options, 1, []sampling.Request{r})
			if diff := cmp.Diff([]any{first[r.Index].Tokens, first[r.Index].NFE, first[r.Index].StepMap}, []any{got.Tokens, got.NFE, got.StepMap}); diff != "" {
				rt.Fatalf("%s: row %d depends on its neighbours (-alone +among others):\n%s", options, r.Index, diff)
			}
		}
		if nfe != accounts.RowPasses || nfe != len(m.passes) {
			rt.Fatalf("%d forward passes of rows counted by rows, %d by the loop, %d by the model", nfe, accounts.RowPasses, len(m.passes))
		}
	})
}

// Where every position has its own candidate, a step takes C+1 forward passes, and the last one 1: nothing is left to weigh.
func TestForwardPasses(t *testing.T) {
	const l, c = 6, 400
	m := model{v: 3, seed: 3}
	r := sampling.Request{Tokens: slices.Repeat([]int32{3}, l), Params: sampling.Params{Temperature: 1, TopP: 1}}
	out, accounts := run(t, &m, fmt.Sprintf(`{"candidate_number":%d,"position_temperature":1000}`, c), 1, []sampling.Request{r})
	want := 1
	for masked := l; masked > 1; masked-- {
		want += 1 + masked // all positions are candidates: one of 6 is missed by 399 draws with a probability below 1e-29
	}
	if got := out[0]; got.NFE != want || got.Steps != l || accounts.RowPasses != want {
		t.Errorf("%d forward passes in %d steps, the loop counts %d; expected %d in %d", got.NFE, got.Steps, accounts.RowPasses, want, l)
	}
}

// law is the exact distribution over finished rows [V^L] with k 1 and two candidates: the proposals are independent, the
// second candidate is drawn with the weights exp(p / tau), and the smaller J opens.
func (m *model) law(l int, tau float64) map[string]float64 {
	look := func(canvas []byte) (p, h []float64) { // [L, V], [L]
		tokens := make([]int64, l)
		for i, x := range canvas {
			tokens[i] = int64(x)
		}
		z := make([]float32, l*(m.v+1))
		m.logits(tokens, z)
		for i := range l {
			sum, entropy := 0.0, 0.0
			for _, z := range z[i*(m.v+1) : (i+1)*(m.v+1)-1] {
				sum += math.Exp(float64(z))
			}
			for _, z := range z[i*(m.v+1) : (i+1)*(m.v+1)-1] {
				q := math.Exp(float64(z)) / sum
				p, entropy = append(p, q), entropy-q*math.Log(q)
			}
			h = append(h, entropy)
		}
		return p, h
	}
	opened := func(canvas, z []byte, i int) []byte {
		out := bytes.Clone(canvas)
		out[i] = z[i]
		return out
	}
	at, done := map[string]float64{string(bytes.Repeat([]byte{byte(m.v)}, l)): 1}, map[string]float64{}
	step := func(canvas []byte, mass float64, to map[string]float64) {
		p, h := look(canvas)
		var draw func(i int, z []byte, q float64)
		draw = func(i int, z []byte, q float64) {
			if i < l && int(canvas[i]) != m.v {
				draw(i+1, append(bytes.Clone(z), canvas[i]), q)
				return
			} else if i < l {
				for v := range m.v {
					draw(i+1, append(bytes.Clone(z), byte(v)), q*p[i*m.v+v])
				}
				return
			}
			greedy, sum := -1, 0.0
			j, w := make([]float64, l), make([]float64, l)
			for i := range l {
				if int(canvas[i]) != m.v {
					continue
				}
				conf := p[i*m.v+int(z[i])]
				if greedy < 0 || conf > p[greedy*m.v+int(z[greedy])] {
					greedy = i
				}
				w[i] = math.Exp(conf / tau)
				sum += w[i]
				after := opened(canvas, z, i)
				_, next := look(after)
				rest, n := 0.0, 0
				for k := range l {
					if int(after[k]) == m.v {
						rest, n = rest+next[k], n+1
					}
				}
				j[i] = h[i] + rest/float64(max(n, 1))
			}
			for i := range l {
				if w[i] == 0 {
					continue
				}
				best := greedy
				if j[i] < j[greedy] {
					best = i
				}
				to[string(opened(canvas, z, best))] += q * w[i] / sum
			}
		}
		draw(0, nil, mass)
	}
	for range l {
		next := map[string]float64{}
		for canvas, mass := range at {
			step([]byte(canvas), mass, next)
		}
		at = next
	}
	for canvas, mass := range at {
		done[canvas] += mass
	}
	return done
}

// Rows that the host samples follow the exact law of the process. The bound on the total variation is exceeded by chance in
// at most one case in 10^8: its mean is at most sum_i sqrt(p_i (1-p_i)/n)/2, and McDiarmid bounds the rest.
func TestExactLaw(t *testing.T) {
	const n, l = 20000, 3
	m := model{v: 3, seed: 77}
	var requests []sampling.Request
	for i := range n {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: []int32{3, 3, 3}, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	out, _ := run(t, &m, `{"candidate_number":2,"position_temperature":0.5}`, 64, requests)
	got := map[string]float64{}
	for _, r := range out {
		got[string([]byte{byte(r.Tokens[0]), byte(r.Tokens[1]), byte(r.Tokens[2])})] += 1.0 / n
	}
	tv, most, greedy := 0.0, math.Sqrt(math.Log(1e8)/(2*n)), 0.0
	other := m.law(l, 0.02) // almost greedy: the test can tell the two apart
	for row, p := range m.law(l, 0.5) {
		tv += math.Abs(got[row]-p) / 2
		most += math.Sqrt(p*(1-p)/n) / 2
		greedy += math.Abs(other[row]-p) / 2
	}
	if tv > most || greedy < 2*most {
		t.Errorf("total variation %.4f from the exact law, at most %.4f by chance; the greedy law lies %.4f away", tv, most, greedy)
	}
	t.Logf("total variation %.4f, at most %.4f by chance; the greedy law lies %.4f away", tv, most, greedy)
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"candidate_number":0}`, `{"k":0}`, `{"variant":"eb"}`, `{"threshold":2}`, `{"steps":3}`} {
		if _, err := infogain.New().Start(t.Context(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}
