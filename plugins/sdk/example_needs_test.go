package sdk_test

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Everything that a plugin may ask for. What it does not ask for is not computed.
func ExampleNeeds() {
	show := func(statistics ...sdk.Statistic) { fmt.Println(sdk.NeedsOf(sdk.Needs(statistics...))) }
	show(sdk.Proposal, sdk.LogpProposal, sdk.P1, sdk.P2, sdk.Entropy, sdk.TopK(4))
	show(sdk.LogpProposalTempered, sdk.P1, sdk.PeaksTempered)                      // after temperature
	show(sdk.LogpProposalSampling, sdk.EntropySampling, sdk.P2, sdk.PeaksSampling) // after truncation, too
	show(sdk.LogpProposalNoised)                                                   // with the noise of the draw
	show(sdk.LogpCurrent, sdk.LogpLeaveOneOut, sdk.KLPrev)                         // of planners that revise
	show(sdk.Uniform, sdk.Gumbel)                                                  // noise
	show(sdk.PlannerScore, sdk.VocabDot(make([]float32, 8)), sdk.Logits)           // one's own network, one's own vectors, everything
	show(sdk.InsertionRate, sdk.UnmaskRate, sdk.FrozenGap)                         // insertion models
	// Output:
	// proposal, logp_proposal(on=model), p1, p2, entropy(on=model), topk(4)
	// logp_proposal(on=tempered), p1(on=tempered)
	// logp_proposal(on=sampling), p2(on=sampling), entropy(on=sampling)
	// logp_proposal(on=noised)
	// logp_current, kl_prev, logp_leave_one_out
	// uniform, gumbel
	// planner_score, vocab_dot(1), logits
	// insertion_rate, unmask_rate, frozen_gap
}

// Order is an option that decides what the planner reads.
type Order struct {
	By string `option:"by" default:"entropy" enum:"entropy,confidence" help:"order of opening"`
}

// What depends on the options is asked for where they are known, so that a run pays for what it reads and no more.
func ExampleNeedsFor() {
	p := sdk.NewPlanner("choosy", func(o Order) sdk.PlanRow {
		return func(r sdk.Row) sdk.Decision {
			if o.By == "entropy" {
				return r.Open(r.Eligible().SmallestBy(r.Entropy, 1))
			}
			return r.Open(r.Eligible().LargestBy(r.P1, 1))
		}
	}, sdk.Needs(sdk.Entropy, sdk.P1), sdk.NeedsFor(func(o Order) sampling.Needs {
		if o.By == "entropy" {
			return sampling.Needs{Entropy: sampling.OnModel}
		}
		return sampling.Needs{P1: true}
	}))
	for _, options := range []string{`{}`, `{"by": "confidence"}`} {
		needs, err := p.Start(context.Background(), sampling.Run{Options: []byte(options)})
		fmt.Println(options, needs, err)
	}
	// Output:
	// {} entropy(on=model) <nil>
	// {"by": "confidence"} p1 <nil>
}

// The needs of options that somebody else wrote.
func ExampleNeedsOf() {
	theirs := []sdk.Option{sdk.Needs(sdk.Entropy), sdk.CanRemask(), sdk.CanInsert()}
	fmt.Println(sdk.NeedsOf(append(theirs, sdk.Needs(sdk.Uniform))...))
	// Output: entropy(on=model), uniform
}
