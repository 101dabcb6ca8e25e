// Package eb opens as many positions at once as an entropy bound allows (EB-Sampler, Ben-Hamu et al. 2025): in the order
// of an error proxy, the longest prefix whose summed entropy less its largest entropy is at most gamma nats. That
// difference bounds the information that the opened positions share, which is what drawing them independently loses.
package eb

import (
	"fmt"
	"iter"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the planner "eb".
type Options struct {
	Proxy      string  `option:"proxy" default:"entropy" enum:"entropy,confidence,margin" help:"order of opening: smallest entropy, largest p1, or largest p1 - p2 first"`
	Gamma      float64 `option:"gamma" default:"0.1" min:"0" help:"entropy bound in nats; 0 opens one uncertain position a step, inf everything at once"`
	StatsOn    string  `option:"stats_on" default:"model" enum:"model,sampling" help:"distribution of the entropies and of what the proxy orders by: model = before temperature; sampling = the one that tokens are drawn from, after temperature, top_k, top_p and min_p. At low temperatures that opens nearly everything at once; at temperature 0 the statistics are those before temperature"`
	Confidence string  `option:"confidence" default:"max" enum:"max,drawn" help:"what the proxy confidence orders by: max = p1 (the paper); drawn = the probability of the drawn token, for which the paper's theorem does not hold"`
	MinPerStep int     `option:"min_per_step" default:"1" min:"1" help:"positions opened a step whatever the bound says"`
	MaxPerStep int     `option:"max_per_step" default:"0" min:"0" help:"positions opened a step at most; 0 = no limit"`
	MaxEntropy float64 `option:"max_entropy" default:"inf" min:"0" help:"positions of larger entropy, in nats, wait until nothing else is left and then open one by one; inf = off"`
}

// New returns the planner "eb". Its steps are only a cap.
func New() sampling.Planner {
	return sdk.NewRunPlanner("eb", build, sdk.Needs(sdk.Entropy, sdk.P1, sdk.P2, sdk.LogpProposal), sdk.NeedsFor(needs), sdk.Adaptive(), sdk.Pure(),
		sdk.Version("1.1.0"), sdk.Summary("opens as many positions at once as an entropy bound allows"))
}

func needs(o Options) sampling.Needs {
	on := sampling.OnModel
	if o.StatsOn == "sampling" {
		on = sampling.OnSampling
	}
	n := sampling.Needs{Entropy: on}
	switch {
	case o.Proxy == "margin":
		n.P1, n.P2, n.PeaksOn = true, true, on
	case o.Proxy == "confidence" && o.Confidence == "drawn":
		n.LogpProposal = on
	case o.Proxy == "confidence":
		n.P1, n.PeaksOn = true, on
	}
	return n
}

func build(o Options, _ sampling.Run) (sdk.PlanRow, error) {
	if o.MaxPerStep == 0 {
		o.MaxPerStep = math.MaxInt
	}
	if o.MaxPerStep < o.MinPerStep {
		return nil, fmt.Errorf("max_per_step %d: expected at least min_per_step %d; raise it, or set 0 for no limit", o.MaxPerStep, o.MinPerStep)
	}
	var gap []float32 // [n] reused from row to row
	var open []int
	order := func(r sdk.Row, ps sdk.Positions) iter.Seq[int] {
		switch o.Proxy {
		case "confidence":
			if o.Confidence == "drawn" {
				return ps.Descending(r.LogpProposal)
			}
			return ps.Descending(r.P1)
		case "margin":
			gap = gap[:0]
			for i := range r.P1 {
				gap = append(gap, r.P1[i]-r.P2[i])
			}
			return ps.Descending(gap)
		}
		return ps.Ascending(r.Entropy)
	}
	return func(r sdk.Row) sdk.Decision {
		eligible, b := r.Eligible(), bound{o.Gamma, o.MinPerStep, o.MaxPerStep}
		if !math.IsInf(o.MaxEntropy, 1) {
			calm := eligible.Where(func(i int) bool { return float64(r.Entropy[i]) <= o.MaxEntropy })
			if calm.Len() == 0 {
				b = bound{0, 1, 1}
			} else {
				eligible = calm
			}
		}
		open = b.prefix(open[:0], order(r, eligible), r.Entropy)
		return r.Open(r.At(open...))
	}, nil
}

// bound says how many positions of an order a step opens.
type bound struct {
	gamma float64 // largest sum of entropies less the largest of them, nats
	least int     // positions opened whatever the bound says, at least 1
	most  int     // positions opened at most
}

// prefix appends to open the longest prefix of the order with sum(h) - max(h) <= gamma, h = entropy, and returns it. The
// candidate is included in the test. The sum less its maximum grows by min(h, maximum so far) with every position,
// which is exact at the first one, cancels nothing and never falls (EB-Sampler, eq. 2 and Algorithm 1).
func (b bound) prefix(open []int, order iter.Seq[int], entropy []float32) []int {
	var f, largest float64
	for i := range order {
		h := max(float64(entropy[i]), 0)
		f += min(h, largest)
		if n := len(open); n >= b.most || n >= b.least && f > b.gamma {
			break
		}
		largest = max(largest, h)
		open = append(open, i)
	}
	return open
}
