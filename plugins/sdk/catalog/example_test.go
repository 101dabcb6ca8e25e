package catalog_test

import (
	"fmt"

	"github.com/mdmhost/mdmhost/plugins/sdk/catalog"
)

// What a planner may ask for.
func ExampleStatistics() {
	for _, s := range catalog.Statistics()[:2] {
		fmt.Println(s.Name, "-", s.Help)
		for _, f := range s.Forms {
			fmt.Println("  sdk."+f.Go, "is", f.Need)
		}
	}
	// Output:
	// proposal - the token that the host drew for every free position, written ones included; -1 where it drew none
	//   sdk.Proposal is proposal
	// logp_proposal - log-probability of the proposal; at temperature 0 all forms are the model's
	//   sdk.LogpProposal is logp_proposal(on=model)
	//   sdk.LogpProposalTempered is logp_proposal(on=tempered)
	//   sdk.LogpProposalSampling is logp_proposal(on=sampling)
	//   sdk.LogpProposalNoised is logp_proposal(on=noised)
}

// What a row always carries.
func ExampleFacts() {
	c := catalog.Facts()[0]
	fmt.Println(c.Name, c.Type, "-", c.Help)
	// Output: index int64 - number of the row in the run, which keys its noise
}

// What a decision may say.
func ExampleVerbs() {
	v := catalog.Verbs()[3]
	fmt.Println(v.Go, "or", v.Python, "-", v.Help, "-", v.Allows)
	// Output: Remask(ps Positions) or remask(positions) - mask written positions again - can_remask
}
