package sampling

import (
	"fmt"
	"strings"
)

// On names the distribution that a statistic is taken of.
type On uint8

const (
	// NotNeeded leaves the statistic out.
	NotNeeded On = iota
	// OnModel is softmax(logits) after guidance and suppression, before temperature and truncation.
	OnModel
	// OnSampling is the distribution that proposals are drawn from: temperature and truncation (top-k, top-p, min-p)
	// applied. At temperature 0 it falls back to OnModel, as eb_sampler section 3.6 asks.
	OnSampling
	// OnTempered is softmax(logits / temperature), before truncation; at temperature 0 it falls back to OnModel.
	OnTempered
	// OnNoised is softmax(logits / temperature + Gumbel noise) over what truncation left, with the noise that drew the proposal:
	// what P2's public code ranks by. It needs [DrawGumbel]; at temperature 0 it falls back to OnModel.
	OnNoised
)

// String returns the word used in the protocol and in messages.
func (o On) String() string {
	return [...]string{"", "model", "sampling", "tempered", "noised"}[o]
}

// Needs is the set of per-position statistics that a planner or sampler asks for. The host computes what somebody
// needs and nothing else. Tokens and the masked, fixed and eligible bits are always there.
type Needs struct {
	Proposal        bool        // the host's draw at every free position, written ones included
	LogpProposal    On          // log-probability of the proposal: OnModel, OnTempered, OnSampling or OnNoised
	P1, P2          bool        // the two largest probabilities
	PeaksOn         On          // the distribution of P1 and P2: NotNeeded and OnModel are the model's, OnTempered, OnSampling
	Entropy         On          // in nats: OnModel or OnSampling
	LogpCurrent     bool        // log-probability, now, of the token that a written position holds; 0 at masked positions
	KLPrev          bool        // KL(p now || p at the row's step before)
	PlannerScore    bool        // score from the planner's own network, run by the host on the proposals
	Uniform         bool        // fresh uniform noise in (0, 1) per position
	Gumbel          bool        // fresh standard Gumbel noise per position
	TopK            int         // K largest probabilities: ids and log-probabilities
	VocabDot        [][]float32 // V-vectors c for sum_v p_v c_v
	InsertionRate   bool        // insertion models: the multiplier of each gap
	UnmaskRate      bool        // insertion models: the learned unmasking rate
	FrozenGap       bool        // insertion models: gaps that may not grow
	LogpLeaveOneOut bool        // log-probability of the held token where the position cannot see it: twice the length of the row
	Logits          bool        // the whole row of logits, through shared memory
}

// Peaks returns the distribution that P1 and P2 are of, or NotNeeded where neither is asked for.
func (n *Needs) Peaks() On {
	if !n.P1 && !n.P2 {
		return NotNeeded
	}
	return max(n.PeaksOn, OnModel)
}

// Union returns the needs of both; the stronger wish wins where one value excludes the other (a conflict between two
// distributions of one statistic is an error naming it).
func (n Needs) Union(m Needs) (Needs, error) {
	var err error
	on := func(name string, a, b On) On {
		if a != NotNeeded && b != NotNeeded && a != b {
			err = fmt.Errorf("needs %s: one part asks for %s(on=%s), another for %s(on=%s); one run serves one of them", name, name, a, name, b)
		}
		return max(a, b)
	}
	n.Proposal = n.Proposal || m.Proposal
	n.LogpProposal = on("logp_proposal", n.LogpProposal, m.LogpProposal)
	if n.PeaksOn = on("p1, p2", n.Peaks(), m.Peaks()); n.PeaksOn == OnModel {
		n.PeaksOn = NotNeeded
	}
	n.P1 = n.P1 || m.P1
	n.P2 = n.P2 || m.P2
	n.Entropy = on("entropy", n.Entropy, m.Entropy)
	n.LogpCurrent = n.LogpCurrent || m.LogpCurrent
	n.KLPrev = n.KLPrev || m.KLPrev
	n.PlannerScore = n.PlannerScore || m.PlannerScore
	n.Uniform = n.Uniform || m.Uniform
	n.Gumbel = n.Gumbel || m.Gumbel
	n.TopK = max(n.TopK, m.TopK)
	n.VocabDot = append(n.VocabDot[:len(n.VocabDot):len(n.VocabDot)], m.VocabDot...)
	n.InsertionRate = n.InsertionRate || m.InsertionRate
	n.UnmaskRate = n.UnmaskRate || m.UnmaskRate
	n.FrozenGap = n.FrozenGap || m.FrozenGap
	n.LogpLeaveOneOut = n.LogpLeaveOneOut || m.LogpLeaveOneOut
	n.Logits = n.Logits || m.Logits
	return n, err
}

// List returns the protocol's names of what is asked for, such as "entropy(on=model)". "p1" and "p2" are of the model, unless
// another distribution stands behind them: "p1(on=sampling)".
func (n Needs) List() []string {
	var out []string
	add := func(is bool, name string) {
		if is {
			out = append(out, name)
		}
	}
	on := func(o On, name string) { add(o != NotNeeded, fmt.Sprintf("%s(on=%s)", name, o)) }
	add(n.Proposal, "proposal")
	on(n.LogpProposal, "logp_proposal")
	peak := func(is bool, name string) {
		if n.Peaks() > OnModel {
			name = fmt.Sprintf("%s(on=%s)", name, n.PeaksOn)
		}
		add(is, name)
	}
	peak(n.P1, "p1")
	peak(n.P2, "p2")
	on(n.Entropy, "entropy")
	add(n.LogpCurrent, "logp_current")
	add(n.KLPrev, "kl_prev")
	add(n.PlannerScore, "planner_score")
	add(n.Uniform, "uniform")
	add(n.Gumbel, "gumbel")
	add(n.TopK > 0, fmt.Sprintf("topk(%d)", n.TopK))
	add(len(n.VocabDot) > 0, fmt.Sprintf("vocab_dot(%d)", len(n.VocabDot)))
	add(n.InsertionRate, "insertion_rate")
	add(n.UnmaskRate, "unmask_rate")
	add(n.FrozenGap, "frozen_gap")
	add(n.LogpLeaveOneOut, "logp_leave_one_out")
	add(n.Logits, "logits")
	return out
}

// String returns the list, separated by commas.
func (n Needs) String() string { return strings.Join(n.List(), ", ") }
