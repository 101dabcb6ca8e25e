package sdk

import "github.com/mdmhost/mdmhost/framework/sampling"

// Statistic adds one statistic to a set of needs. The functions below are the statistics of protocol version 1; tokens
// and the masked, fixed and eligible bits always come.
type Statistic func(*sampling.Needs)

// Proposal is the host's draw at every free position, written ones included.
func Proposal(n *sampling.Needs) { n.Proposal = true }

// LogpProposal is the log-probability of the proposal under the model, before temperature.
func LogpProposal(n *sampling.Needs) { n.LogpProposal = sampling.OnModel }

// LogpProposalTempered is the log-probability of the proposal under softmax(logits / temperature).
func LogpProposalTempered(n *sampling.Needs) { n.LogpProposal = sampling.OnTempered }

// LogpProposalSampling is the log-probability of the proposal under the distribution that it was drawn from: after temperature,
// top-k, top-p and min-p.
func LogpProposalSampling(n *sampling.Needs) { n.LogpProposal = sampling.OnSampling }

// LogpProposalNoised is the log-probability of the proposal under softmax(logits / temperature + Gumbel noise), with the noise
// that drew it. Runs that draw otherwise (sampling.draw) are refused.
func LogpProposalNoised(n *sampling.Needs) { n.LogpProposal = sampling.OnNoised }

// P1 is the largest probability: of the model, unless [PeaksTempered] or [PeaksSampling] is asked for, too.
func P1(n *sampling.Needs) { n.P1 = true }

// P2 is the second largest probability, of the same distribution as [P1].
func P2(n *sampling.Needs) { n.P2 = true }

// PeaksTempered takes [P1] and [P2] of softmax(logits / temperature); at temperature 0 they are the model's.
func PeaksTempered(n *sampling.Needs) { n.PeaksOn = sampling.OnTempered }

// PeaksSampling takes [P1] and [P2] of the distribution that proposals are drawn from: after temperature, top-k, top-p and min-p.
// P2 is 0 where truncation leaves one token. At temperature 0 they are the model's.
func PeaksSampling(n *sampling.Needs) { n.PeaksOn = sampling.OnSampling }

// Entropy is the entropy of the model's distribution in nats.
func Entropy(n *sampling.Needs) { n.Entropy = sampling.OnModel }

// EntropySampling is the entropy of the distribution that proposals are drawn from, in nats.
func EntropySampling(n *sampling.Needs) { n.Entropy = sampling.OnSampling }

// LogpCurrent is the log-probability, now, of the token that a written position holds.
func LogpCurrent(n *sampling.Needs) { n.LogpCurrent = true }

// KLPrev is KL(p now || p in the row's step before) in nats.
func KLPrev(n *sampling.Needs) { n.KLPrev = true }

// PlannerScore is the score of the planner's own network, which the host runs on the proposals.
func PlannerScore(n *sampling.Needs) { n.PlannerScore = true }

// Uniform is fresh noise in (0, 1) per position.
func Uniform(n *sampling.Needs) { n.Uniform = true }

// Gumbel is fresh standard Gumbel noise per position.
func Gumbel(n *sampling.Needs) { n.Gumbel = true }

// TopK is the k most probable tokens of each position with their log-probabilities.
func TopK(k int) Statistic { return func(n *sampling.Needs) { n.TopK = max(n.TopK, k) } }

// VocabDot is sum_v p_v c_v for each of the V-vectors c given.
func VocabDot(c ...[]float32) Statistic {
	return func(n *sampling.Needs) { n.VocabDot = append(n.VocabDot, c...) }
}

// InsertionRate is the multiplier of each gap, 0 where the gap is frozen; insertion models only. Together with [Uniform] it brings
// Row.GapUniform, fresh noise in (0, 1) per gap.
func InsertionRate(n *sampling.Needs) { n.InsertionRate = true }

// UnmaskRate is the learned unmasking rate, 1 where the model learned none, 0 where nothing is masked; insertion models only.
func UnmaskRate(n *sampling.Needs) { n.UnmaskRate = true }

// FrozenGap marks the gaps that may not grow; insertion models only.
func FrozenGap(n *sampling.Needs) { n.FrozenGap = true }

// LogpLeaveOneOut is the log-probability of the token that a written position holds, where the position cannot see it; 0 at masked
// positions. Rows run at twice their length for it, and models that cannot are refused.
func LogpLeaveOneOut(n *sampling.Needs) { n.LogpLeaveOneOut = true }

// Logits is the whole row of logits, through shared memory.
func Logits(n *sampling.Needs) { n.Logits = true }
