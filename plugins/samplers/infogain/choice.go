package infogain

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/count"
)

// choice is what one row may do in a step.
type choice struct {
	slot, actedAs int
	t, alpha      float64 // time after the step
	sets          [][]int32
	writes        [][]sampling.Write // the sets with their proposals, by position of the whole row
	cost          []float64          // entropy of each set, nats
	rest          []float64          // mean entropy of what stays masked after each set, nats; missing where the row is faulty
}

// candidates returns the sets of positions among which the row chooses, the greedy one first. Noise comes from the uniform
// of the window's first position, which seeds a generator (PCG-DXSM): one Gumbel number per set and eligible position.
func (o Options) candidates(r *sampling.Row) choice {
	var eligible []int32
	var p []float64 // of the eligible positions' proposals
	masked := 0
	for i, f := range r.Flags {
		if f&sampling.Masked != 0 {
			masked++
		}
		if f&sampling.Eligible != 0 {
			eligible, p = append(eligible, int32(i)), append(p, math.Exp(float64(r.LogpProposal[i])))
		}
	}
	k, actedAs := count.Auto(o.K).Next(r.Blanks, masked, r.Step, r.Steps)
	k = min(k, len(eligible))
	c := choice{slot: r.Slot, actedAs: actedAs, t: r.T * (1 - float64(k)/float64(max(masked+r.Behind, 1)))}
	c.alpha = 1 - c.t
	add := func(scores []float64) {
		best := largest(scores, k)
		set := make([]int32, len(best))
		for i, at := range best {
			set[i] = eligible[at]
		}
		slices.Sort(set)
		if slices.ContainsFunc(c.sets, func(s []int32) bool { return slices.Equal(s, set) }) {
			return
		}
		cost, writes := 0.0, make([]sampling.Write, len(set))
		for i, at := range set {
			cost += float64(r.Entropy[at])
			writes[i] = sampling.Write{Position: int32(r.Offset) + at, Token: r.Proposal[at]}
		}
		c.sets, c.writes, c.cost = append(c.sets, set), append(c.writes, writes), append(c.cost, cost)
	}
	last, sure := k == len(eligible), o.sure(p)
	if sure > 0 && !last {
		k = min(k, sure)
	}
	add(p)
	if last || sure > 0 || o.PositionTemperature == 0 {
		return c
	}
	noise, scores := rand.New(rand.NewPCG(math.Float64bits(r.Uniform[0]), 0)), make([]float64, len(p))
	for range o.CandidateNumber - 1 {
		for i := range p {
			scores[i] = p[i]/o.PositionTemperature + sdk.GumbelOf(noise.Float64())
		}
		add(scores)
	}
	return c
}

// sure counts the proposals that need no weighing.
func (o Options) sure(p []float64) (n int) {
	for _, x := range p {
		if o.Threshold > 0 && x >= o.Threshold {
			n++
		}
	}
	return n
}

// largest returns the k indices with the largest scores, of equal ones the first.
func largest(scores []float64, k int) []int {
	at := make([]int, len(scores))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return at[:k]
}

// decide opens the set with the smallest J, of equal ones the first.
func (c *choice) decide(lookum bool) sampling.Decision {
	d, best := sampling.Decision{ActedAs: c.actedAs, Open: c.sets[0]}, math.Inf(1)
	if len(c.rest) < len(c.sets) {
		return d
	}
	for i, set := range c.sets {
		j := c.rest[i]
		if !lookum {
			j += c.cost[i]
		}
		if j < best {
			best, d.Open = j, set
		}
	}
	d.Metrics = map[string]float64{"candidates": float64(len(c.sets)), "j": best}
	return d
}

// meanEntropy is the state uncertainty of a canvas: the mean entropy of its masked positions, 0 without any.
func meanEntropy(r *sampling.Row) float64 {
	sum, n := 0.0, 0
	for i, f := range r.Flags {
		if f&sampling.Masked != 0 {
			sum += float64(r.Entropy[i])
			n++
		}
	}
	return sum / float64(max(n, 1))
}
