package plugintest

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// The vocabulary of the rows. The mask is an id like any other, so that a plugin that takes it for the last one is found out.
const (
	vocabulary = 12
	maskID     = 3
)

// model is a denoiser of noise: the logits of a position are a function of the seed and of the tokens around it, some sharp and
// some flat. Everything else is computed from them by the host's own code.
type model struct {
	seed   uint64
	head   sampling.Head
	batch  sampling.Batch
	stats  sampling.Statistics
	memory sampling.Memory
	logits []float32 // [B, L, V]
	grows  bool
	flat   bool // it is sure of nothing
}

// serves is everything that a runtime can compute.
func serves() sampling.Needs {
	return sampling.Needs{Proposal: true, LogpProposal: sampling.OnModel, P1: true, P2: true, Entropy: sampling.OnModel, LogpCurrent: true, KLPrev: true,
		PlannerScore: true, TopK: 1 << 16, InsertionRate: true, UnmaskRate: true, FrozenGap: true, LogpLeaveOneOut: true, Logits: true}
}

func (m *model) Capabilities() sampling.Capabilities {
	return sampling.Capabilities{Serves: serves(), VocabDots: 64, State: true, MaxRows: 64, Padding: true, V: vocabulary, Runtime: "plugintest", Provider: "cpu"}
}

func (m *model) Configure(_ context.Context, h sampling.Head) error {
	m.head = h
	return nil
}

func (m *model) Batch(b, l int) (*sampling.Batch, error) {
	m.batch = sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Attention: make([]int64, b*l), Active: make([]uint8, b*l),
		Params: make([]sampling.Params, b), Slots: make([]int32, b), Fresh: make([]uint8, b), Uniform: make([]float64, b*l)}
	if m.head.Draw == sampling.DrawGumbel {
		m.batch.Gumbel = make([]float64, b*l*vocabulary)
	}
	return &m.batch, nil
}

func (m *model) Run(ctx context.Context) (*sampling.Statistics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b, l := m.batch.B, m.batch.L
	m.logits = make([]float32, b*l*vocabulary)
	if m.head.Needs.LogpLeaveOneOut {
		m.stats.LogpLeaveOneOut = make([]float32, b*l)
	}
	if m.grows {
		m.stats.InsertionRate, m.stats.UnmaskRate = make([]float32, b*(l+1)), make([]float32, b*l)
	}
	for i := range b {
		n, key := 0, m.seed
		for n < l && m.batch.Attention[i*l+n] == 1 {
			key = (key ^ uint64(m.batch.Tokens[i*l+n])) * 1099511628211
			n++
		}
		rng := rand.New(rand.NewPCG(key, uint64(n)))
		for j := i * l; j < i*l+n; j++ {
			sharpness := [...]float64{0.3, 1.5, 6, 12}[rng.IntN(4)]
			if m.flat {
				sharpness = 0.1
			}
			for v := range vocabulary {
				m.logits[j*vocabulary+v] = float32(sharpness * rng.NormFloat64())
			}
			if m.stats.LogpLeaveOneOut != nil && m.batch.Tokens[j] != maskID {
				m.stats.LogpLeaveOneOut[j] = float32(math.Log(rng.Float64() + 1e-6))
			}
			if m.grows {
				m.stats.UnmaskRate[j] = float32(2 * rng.Float64())
			}
		}
		for g := 0; m.grows && g <= n; g++ {
			m.stats.InsertionRate[i*(l+1)+g] = float32(2 * rng.Float64())
		}
	}
	return &m.stats, m.memory.Compute(m.logits, vocabulary, &m.batch, m.head, &m.stats)
}

func (*model) Close() error { return nil }

// Score implements [sampling.Scorer]: the network of planners that have one.
func (m *model) Score(_ context.Context, c *sampling.Candidates) ([]float32, error) {
	out := make([]float32, c.B*c.L)
	for i := range c.B {
		key := m.seed
		for j := range c.Lengths[i] {
			key = (key ^ uint64(c.Tokens[i*c.L+j])) * 1099511628211
		}
		rng := rand.New(rand.NewPCG(key, 5))
		for j := range c.L {
			out[i*c.L+j] = float32(math.Log(rng.Float64() + 1e-6))
		}
	}
	return out, nil
}
