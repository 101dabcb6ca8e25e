package insertion_test

import (
	"cmp"
	"context"
	"fmt"
	"math"

	core "github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/framework/insertion/exact"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/insertion"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// model serves heads that are a function of a row and the clock.
type model struct {
	v      int // logits of a position: tokens, padding, mask
	heads  func(row []int32, u float64) exact.Heads
	head   sampling.Head
	batch  sampling.Batch
	stats  sampling.Statistics
	row    []int32
	logits []float32
}

func (m *model) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Padding: true, V: m.v, Runtime: "go", Provider: "cpu",
		Serves: sampling.Needs{Proposal: true, P1: true, P2: true, Entropy: sampling.OnModel, TopK: 1, InsertionRate: true, UnmaskRate: true, FrozenGap: true}}
}

func (m *model) Configure(_ context.Context, h sampling.Head) error { m.head = h; return nil }

func (m *model) Batch(b, l int) (*sampling.Batch, error) {
	if m.batch.B != b || m.batch.L != l {
		m.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
			Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l), Time: make([]float32, b)}
		m.logits = make([]float32, b*l*m.v)
		m.stats.InsertionRate, m.stats.UnmaskRate = make([]float32, b*(l+1)), make([]float32, b*l)
	}
	return &m.batch, nil
}

func (m *model) Run(context.Context) (*sampling.Statistics, error) {
	b, l, v := m.batch.B, m.batch.L, m.v
	for i := range b {
		m.row = m.row[:0]
		for j := 0; j < l && m.batch.Attention[i*l+j] == 1; j++ {
			m.row = append(m.row, int32(m.batch.Tokens[i*l+j]))
		}
		h := m.heads(m.row, core.Clock(float64(m.batch.Time[i]), 1))
		for g, rate := range h.InsertionRate {
			m.stats.InsertionRate[i*(l+1)+g] = float32(rate)
		}
		for j, probabilities := range h.Tokens {
			m.stats.UnmaskRate[i*l+j] = float32(h.UnmaskRate[j])
			if !h.Known {
				m.stats.UnmaskRate[i*l+j] = 1
			}
			for k, p := range probabilities {
				m.logits[(i*l+j)*v+k] = float32(math.Log(max(p, 1e-30)))
			}
		}
	}
	return &m.stats, sampling.Compute(m.logits, v, &m.batch, m.head, &m.stats)
}

func (m *model) Close() error { return nil }

// setting is a way of sampling a law.
type setting struct {
	law         exact.Law
	heads       func(row []int32, u float64) exact.Heads // nil: the exact posterior
	options     string
	steps, cap  int
	gap         string // "": n+1
	temperature float32
	start       []int32
	frozen      []bool
	batch       int // 0: 256
	metrics     func(map[string]float64)
}

// Stepped implements [sampling.Observer].
func (s setting) Stepped(f sampling.Frame) { s.metrics(f.Metrics) }
func (s setting) Admitted(sampling.Frame)  {}
func (s setting) Finished(sampling.Result) {}
func (s setting) String() string           { return fmt.Sprintf("%s in %d steps", s.options, s.steps) }

func (s setting) growth() *sampling.Growth {
	return &sampling.Growth{Gap: cmp.Or(s.gap, sampling.GapTail), Cap: s.cap, A: 1}
}

// tb is what testing.T and rapid.T share.
type tb interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
}

// sample draws rows through the host's loop.
func (s setting) sample(t tb, rows int, seed uint64) []sampling.Result {
	t.Helper()
	m := &model{v: s.law.V + 2, heads: s.heads}
	if m.heads == nil {
		m.heads = exact.New(s.law).Heads
	}
	if s.temperature == 0 {
		s.temperature = 1
	}
	sampler := insertion.New()
	needs, err := sampler.Start(t.Context(), sampling.Run{Options: []byte(s.options), Temperature: float64(s.temperature), Capabilities: m.Capabilities(), Insertion: s.growth()})
	if err != nil {
		t.Fatal(err)
	}
	suppress := []int32{s.law.Pad(), s.law.Mask()}
	if err := m.Configure(t.Context(), sampling.Head{Needs: needs, Suppress: suppress}); err != nil {
		t.Fatal(err)
	}
	out, next := make([]sampling.Result, rows), 0
	config := sampling.LoopConfig{Denoiser: m, SamplerName: "insertion", SamplerNeeds: needs, Seed: seed, MaskID: s.law.Mask(), PadID: s.law.Pad(), V: s.law.V + 2,
		Suppress: suppress, Rows: cmp.Or(s.batch, 256), Growth: s.growth(), FromZero: true,
		Planner: sdk.NewPlanner("idle", func(struct{}) sdk.PlanRow { panic("the planner is not asked") }),
		Next: func() (sampling.Request, bool) {
			next++
			return sampling.Request{Index: int64(next - 1), Tokens: s.start, FrozenGap: s.frozen, Steps: s.steps, Params: sampling.Params{Temperature: s.temperature, TopP: 1}}, next <= rows
		},
		Sink: func(r sampling.Result) error { out[r.Index] = r; return r.Err }}
	if s.metrics != nil {
		config.Observers = []sampling.Observer{s}
	}
	loop, err := sampling.NewLoop(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := sampler.Sample(t.Context(), loop); err != nil {
		t.Fatal(err)
	}
	if err := loop.Done(); err != nil {
		t.Fatal(err)
	}
	return out
}

func tokens(results []sampling.Result) (rows [][]int32) {
	for _, r := range results {
		rows = append(rows, r.Tokens)
	}
	return rows
}
