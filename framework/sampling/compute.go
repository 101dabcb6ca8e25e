package sampling

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Compute is the statistics head in plain Go, in float64: it serves runtimes that cannot extend a model's graph, and it is
// what their heads are tested against. It fills out with what head needs of the logits [B, L, V] at the batch's active
// positions (see [Statistics]); logits are not changed. Statistics that come from elsewhere (noise, planner_score,
// logp_leave_one_out and those of insertion models) are left alone. Every row is in its first pass: see [Memory.Compute].
//
// With m the largest logit, e_v = exp(z_v - m) and S the sum of e_v over all tokens but the first largest,
//
//	ln Z = m + log1p(S),    H = log1p(S) + sum_v e_v (m - z_v) / (1 + S),
//
// which needs no cancellation (methods/eb_sampler.md, section 5). The logits are edited first ([Edits]), and suppressed tokens
// count as -Inf before everything else. Where the proposal is a fault, the other statistics of the position are NaN and its
// candidates -1.
func Compute(logits []float32, v int, batch *Batch, head Head, out *Statistics) error {
	first := *batch
	if head.Remembers() {
		first.Slots, first.Fresh = make([]int32, batch.B), make([]uint8, batch.B)
		for b := range first.Slots {
			first.Slots[b] = int32(b)
		}
	}
	return new(Memory).Compute(logits, v, &first, head, out)
}

// Compute is [Compute] for a run: kl_prev and credits are those of the rows' passes before.
func (m *Memory) Compute(logits []float32, v int, batch *Batch, head Head, out *Statistics) error {
	n := batch.B * batch.L
	if v < 1 || len(logits) != n*v {
		return fmt.Errorf("statistics: %d logits given, expected %d rows x %d positions x %d tokens; check the model's vocabulary", len(logits), batch.B, batch.L, v)
	}
	for _, c := range head.Needs.VocabDot {
		if len(c) != v {
			return fmt.Errorf("statistics: a vocab_dot vector has %d entries, expected one per token (%d)", len(c), v)
		}
	}
	remembers := head.Remembers()
	if remembers {
		if err := batch.CheckSlots(); err != nil {
			return err
		}
	}
	c := computers.Get().(*computer)
	defer computers.Put(c)
	c.prepare(v, head, out, batch.B, batch.L)
	for b := range batch.B {
		c.enter(batch, b)
		if remembers {
			c.memory = m.slot(batch, b, v, &head)
		}
		for i := b * batch.L; i < (b+1)*batch.L; i++ {
			known := batch.Active[i] != 0 && c.position(logits[i*v:(i+1)*v], batch, i)
			if remembers {
				c.memory.known[i-b*batch.L] = known
			}
		}
	}
	c.memory = nil
	if head.Needs.Logits {
		out.Logits = logits
	}
	return nil
}

// computer is the memory of one call of Compute.
type computer struct {
	v          int
	head       Head
	out        *Statistics
	suppressed []bool    // [V]
	allowed    [][2]int  // runs of tokens that are not suppressed, in order
	e          []float64 // [V] exp(z - m)
	heap       []int32   // tokens, for those who rank

	edited  []float32   // [V] logits after the edits
	written []int32     // tokens that the row holds, each once
	holds   []bool      // [V] the same
	memory  *slotMemory // of the row, where the head remembers
}

var computers = sync.Pool{New: func() any { return &computer{} }}

func (c *computer) prepare(v int, head Head, out *Statistics, b, l int) {
	c.v, c.head, c.out = v, head, out
	c.suppressed = slices.Grow(c.suppressed[:0], v)[:v]
	clear(c.suppressed)
	for _, id := range head.Suppress {
		if id >= 0 && int(id) < v {
			c.suppressed[id] = true
		}
	}
	c.allowed = c.allowed[:0]
	for lo := 0; lo < v; lo++ {
		if !c.suppressed[lo] {
			hi := lo
			for hi < v && !c.suppressed[hi] {
				hi++
			}
			c.allowed = append(c.allowed, [2]int{lo, hi})
			lo = hi
		}
	}
	c.e = slices.Grow(c.e[:0], v)[:v]
	clear(c.holds)
	c.written = c.written[:0]

	n, needs := b*l, head.Needs
	floats := func(s []float32, is bool, n int) []float32 {
		if !is {
			return nil
		}
		return slices.Grow(s[:0], n)[:n]
	}
	out.B, out.L = b, l
	out.Proposal = slices.Grow(out.Proposal[:0], n)[:n]
	out.LogpProposal = floats(out.LogpProposal, needs.LogpProposal != NotNeeded, n)
	out.P1 = floats(out.P1, needs.P1, n)
	out.P2 = floats(out.P2, needs.P2, n)
	out.Entropy = floats(out.Entropy, needs.Entropy != NotNeeded, n)
	out.LogpCurrent = floats(out.LogpCurrent, needs.LogpCurrent, n)
	out.KLPrev = floats(out.KLPrev, needs.KLPrev, n)
	out.TopLogp = floats(out.TopLogp, needs.TopK > 0, n*needs.TopK)
	out.VocabDot = floats(out.VocabDot, len(needs.VocabDot) > 0, n*len(needs.VocabDot))
	out.TopIDs = slices.Grow(out.TopIDs[:0], n*needs.TopK)[:n*needs.TopK]
	out.Logits = nil
}

// peaks are the results of the first pass over a position's logits.
type peaks struct {
	first, second float64 // the two largest logits
	argmax        int     // -1 where no token is left
	fault         int32   // 0 or a fault
}

func (c *computer) peaks(z []float32) peaks {
	first, second, argmax := float32(math.Inf(-1)), float32(math.Inf(-1)), -1
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			switch x := z[v]; {
			case x > first:
				second, first, argmax = first, x, v
			case x > second:
				second = x
			case x != x:
				return peaks{fault: FaultNaN}
			}
		}
	}
	p := peaks{float64(first), float64(second), argmax, 0}
	if math.IsInf(p.first, 1) {
		p.fault = FaultNaN
	} else if argmax < 0 {
		p.fault = FaultSuppressed
	}
	return p
}

// position computes everything of position i = b*L + l, whose logits are z [V], and tells whether they are sound.
func (c *computer) position(z []float32, batch *Batch, i int) bool {
	z = c.edit(z, batch, i)
	p := c.peaks(z)
	if p.fault != 0 {
		c.fail(i, p.fault)
		return false
	}
	needs, out := &c.head.Needs, c.out
	params := batch.Params[i/batch.L]
	hot := params.Temperature > 0

	var rest, cross float64 // sums over all tokens but the argmax
	m := p.first
	for _, run := range c.allowed {
		for v := run[0]; v < run[1]; v++ {
			d := m - float64(z[v])
			e := math.Exp(-d)
			c.e[v] = e
			if e > 0 && v != p.argmax {
				rest += e
				cross += e * d
			}
		}
	}
	total, lnZ := 1+rest, m+math.Log1p(rest)
	entropy := math.Log1p(rest) + cross/total

	if out.LogpCurrent != nil {
		out.LogpCurrent[i] = 0 // the mask, or another token that has no probability to speak of
		if t := batch.Tokens[i]; t >= 0 && int(t) < c.v && !c.suppressed[t] {
			out.LogpCurrent[i] = float32(float64(z[t]) - lnZ)
		}
	}
	for k, vector := range needs.VocabDot {
		sum := 0.0
		for _, run := range c.allowed {
			for v := run[0]; v < run[1]; v++ {
				sum += c.e[v] * float64(vector[v])
			}
		}
		out.VocabDot[k*batch.B*batch.L+i] = float32(sum / total)
	}
	if k := needs.TopK; k > 0 {
		c.candidates(z, lnZ, out.TopIDs[i*k:(i+1)*k], out.TopLogp[i*k:(i+1)*k])
	}

	if out.KLPrev != nil {
		out.KLPrev[i] = c.kl(z, lnZ, i%batch.L)
	}

	proposal, d := p.argmax, drawing{}
	p1, p2 := 1/total, math.Exp(p.second-m)/total
	if hot {
		proposal, d = c.draw(z, p, params, batch, i)
		if needs.Peaks() > OnModel {
			p1, p2 = d.p1, d.p2
		}
		if needs.Entropy == OnSampling {
			entropy = d.entropy
		}
	}
	out.Proposal[i] = int32(proposal)
	if out.P1 != nil {
		out.P1[i] = float32(p1)
	}
	if out.P2 != nil {
		out.P2[i] = float32(p2)
	}
	if out.Entropy != nil {
		out.Entropy[i] = float32(entropy)
	}
	if out.LogpProposal == nil {
		return true
	}
	logp := float64(z[proposal]) - lnZ
	switch tempered := (float64(z[proposal]) - m) / float64(params.Temperature); {
	case !hot || needs.LogpProposal == OnModel:
	case needs.LogpProposal == OnSampling:
		logp = tempered - d.lnKept
	case needs.LogpProposal == OnNoised:
		logp = -d.lnNoised
	default:
		logp = tempered - d.lnAll
	}
	out.LogpProposal[i] = float32(logp)
	return true
}

// fail marks position i.
func (c *computer) fail(i int, fault int32) {
	nan, out := float32(math.NaN()), c.out
	out.Proposal[i] = fault
	for _, s := range [][]float32{out.LogpProposal, out.P1, out.P2, out.Entropy, out.LogpCurrent, out.KLPrev} {
		if s != nil {
			s[i] = nan
		}
	}
	for k := range c.head.Needs.VocabDot {
		out.VocabDot[k*out.B*out.L+i] = nan
	}
	k := c.head.Needs.TopK
	for j := i * k; j < (i+1)*k; j++ {
		out.TopIDs[j], out.TopLogp[j] = -1, nan
	}
}
