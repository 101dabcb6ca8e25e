package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// asksForMore describes that it needs nothing and asks for entropies.
func asksForMore() {
	sdk.Serve(&byHand{asks: func() sampling.Needs { return sampling.Needs{Entropy: sampling.OnModel} }, plan: openEvery})
}
