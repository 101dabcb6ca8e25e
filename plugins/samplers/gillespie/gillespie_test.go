package gillespie_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/gillespie"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// model serves logits of a Go function; its last token is the mask.
type model struct {
	v     int
	seed  uint64
	flat  bool // all tokens equal everywhere
	head  sampling.Head
	batch sampling.Batch
	stats sampling.Statistics
}

func (m *model) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Padding: true, V: m.v + 1, Runtime: "go", Provider: "cpu",
		Serves: sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true}}
}

func (m *model) Configure(_ context.Context, h sampling.Head) error { m.head = h; return nil }

func (m *model) Batch(b, l int) (*sampling.Batch, error) {
	m.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l), Time: make([]float32, b)}
	return &m.batch, nil
}

func (m *model) Run(context.Context) (*sampling.Statistics, error) {
	return &m.stats, sampling.Compute(m.logits(), m.v+1, &m.batch, m.head, &m.stats)
}

// logits returns those of the batch [B, L, V+1], a function of each row.
func (m *model) logits() []float32 {
	b, l, width := m.batch.B, m.batch.L, m.v+1
	logits := make([]float32, b*l*width)
	for row := range b {
		h := m.seed
		for j := range l {
			if m.batch.Attention[row*l+j] == 1 {
				h = (h ^ uint64(m.batch.Tokens[row*l+j])) * 1099511628211
			}
		}
		rng := rand.New(rand.NewPCG(h, 1))
		for j := range l {
			z := logits[(row*l+j)*width : (row*l+j+1)*width]
			for k := range m.v {
				if z[k] = float32(2 * rng.NormFloat64()); m.flat {
					z[k] = 0
				}
			}
			z[m.v] = 100 // the mask's own logit must never matter
		}
	}
	return logits
}

func (m *model) Close() error { return nil }

// run samples rows through the host's loop with a planner that nobody asks.
func run(t interface {
	Context() context.Context
	Fatal(args ...any)
}, m model, options string, remasks bool, batch int, requests []sampling.Request) (map[int64]sampling.Result, error) {
	s := gillespie.New()
	needs, err := s.Start(t.Context(), sampling.Run{Options: []byte(options)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Configure(t.Context(), sampling.Head{Needs: needs, Suppress: []int32{int32(m.v)}, Present: remasks}); err != nil {
		t.Fatal(err)
	}
	out, next := map[int64]sampling.Result{}, 0
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: &m, SamplerName: "gillespie", SamplerNeeds: needs, CanRemask: remasks, Seed: m.seed,
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
	return out, err
}

var (
	masks   = []string{"uniform", "denoiser", "margin", "neg_entropy"}
	written = []string{"keep", "denoiser", "margin", "neg_entropy"}
)

// Whatever the weights and rows: a run ends within its steps, writes no mask, leaves fixed positions, and a row is a
// function of the seed and itself.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{v: rapid.IntRange(2, 5).Draw(rt, "tokens"), seed: rapid.Uint64().Draw(rt, "seed"), flat: rapid.IntRange(0, 4).Draw(rt, "flat") == 0}
		unmask := rapid.SampledFrom(written).Draw(rt, "unmask_score")
		options := `{"mask_score":"` + rapid.SampledFrom(masks).Draw(rt, "mask_score") + `","unmask_score":"` + unmask + `"}`
		temperature := rapid.SampledFrom([]float32{0, 1, 5}).Draw(rt, "temperature")
		var requests []sampling.Request
		for i := range rapid.IntRange(1, 4).Draw(rt, "rows") {
			n := rapid.SampledFrom([]int{1, 2, 5, 9}).Draw(rt, "length")
			r := sampling.Request{Index: int64(7 * i), Fixed: make([]bool, n), Steps: rapid.IntRange(0, 5*n).Draw(rt, "steps"),
				Params: sampling.Params{Temperature: temperature, TopP: 1}}
			for j := range n {
				token := int32(rapid.IntRange(0, m.v).Draw(rt, "token"))
				r.Tokens, r.Fixed[j] = append(r.Tokens, token), int(token) < m.v && rapid.Bool().Draw(rt, "fixed")
			}
			requests = append(requests, r)
		}
		together, err := run(rt, m, options, true, rapid.IntRange(1, 4).Draw(rt, "batch"), requests)
		if err != nil {
			rt.Fatal(err)
		}
		for _, r := range requests {
			got, blanks := together[r.Index], 0
			for i, token := range r.Tokens {
				if int(token) == m.v {
					blanks++
				}
				if now := got.Tokens[i]; now < 0 || int(now) >= m.v || now != token && (r.Fixed[i] || int(token) < m.v && unmask == "keep") {
					rt.Fatalf("%s: position %d changed from %d to %d", options, i, token, now)
				}
			}
			steps := r.Steps
			if steps == 0 {
				steps = blanks
			}
			if got.Steps > steps || got.NFE > steps || unmask == "keep" && (got.Revised > 0 || got.NFE > blanks) {
				rt.Fatalf("%s: %d steps, %d forwards and %d revisions for %d blanks in at most %d steps", options, got.Steps, got.NFE, got.Revised, blanks, steps)
			}
			if got.Finish != sampling.FinishComplete && got.Finish != sampling.FinishSteps {
				rt.Fatalf("%s: the row ended as %q", options, got.Finish)
			}
			alone, err := run(rt, m, options, true, 1, []sampling.Request{r})
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(alone[r.Index].Tokens, got.Tokens); diff != "" {
				rt.Fatalf("%s: row %d depends on its neighbours (-alone +among others):\n%s", options, r.Index, diff)
			}
		}
	})
}

// One blank a step, and no more steps than blanks.
func TestMDMGillespieTakesAStepPerBlank(t *testing.T) {
	m := model{v: 4, seed: 5}
	r := sampling.Request{Tokens: []int32{4, 4, 1, 4, 4, 4}, Params: sampling.Params{Temperature: 1, TopP: 1}}
	out, err := run(t, m, `{}`, false, 1, []sampling.Request{r})
	if err != nil {
		t.Fatal(err)
	}
	got, seen := out[0], map[int32]bool{}
	for i, step := range got.StepMap {
		if i != 2 {
			seen[step] = true
		}
	}
	if got.NFE != 5 || got.Steps != 5 || len(seen) != 5 || got.Finish != sampling.FinishComplete {
		t.Errorf("%d forwards, %d steps, positions opened at %v, finish %s", got.NFE, got.Steps, got.StepMap, got.Finish)
	}
}

// Without a planner that remasks the host computes nothing at written positions: P2 Gillespie says so at the start, or stops
// where the host did not tell then.
func TestWrittenPositionsNeedAPlannerThatRemasks(t *testing.T) {
	r := sampling.Request{Tokens: []int32{2, 2, 2}, Steps: 20, Params: sampling.Params{Temperature: 1, TopP: 1}}
	_, err := run(t, model{v: 2, seed: 1}, `{"unmask_score":"denoiser"}`, false, 1, []sampling.Request{r})
	if err == nil || !strings.Contains(err.Error(), "--planner p2") {
		t.Errorf("got %v, want an error that names a planner to take", err)
	}
	for options, refused := range map[string]bool{`{"unmask_score":"denoiser"}`: true, `{"unmask_score":"margin"}`: true, `{"mask_score":"denoiser"}`: false} {
		_, atStart := gillespie.New().Start(t.Context(), sampling.Run{Options: []byte(options), KeepsWritten: true})
		if refused != (atStart != nil) || refused && atStart.Error() != err.Error() {
			t.Errorf("%s: %v, refused as in mid-run: %v", options, atStart, refused)
		}
	}
}

// The order of MDM Gillespie is uniform whatever the tokens: chi-squared over the 6 orders of 3 positions, 5 degrees of
// freedom. The false-alarm rate at 45 is 1.5e-8.
func TestUniformOrder(t *testing.T) {
	var requests []sampling.Request
	const n = 6000
	for i := range n {
		requests = append(requests, sampling.Request{Index: int64(i), Tokens: []int32{3, 3, 3}, Params: sampling.Params{Temperature: 1, TopP: 1}})
	}
	out, err := run(t, model{v: 3, seed: 9}, `{}`, false, 64, requests)
	if err != nil {
		t.Fatal(err)
	}
	orders := map[[3]int32]int{}
	for _, r := range out {
		orders[[3]int32(r.StepMap)]++
	}
	chi := 0.0
	for _, c := range orders {
		chi += math.Pow(float64(c)-n/6, 2) / (n / 6)
	}
	if len(orders) != 6 || chi > 45 {
		t.Errorf("orders %v, chi-squared %.1f", orders, chi)
	}
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"mask_score":"keep"}`, `{"unmask_score":"uniform"}`, `{"k":1}`} {
		if _, err := gillespie.New().Start(t.Context(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}
