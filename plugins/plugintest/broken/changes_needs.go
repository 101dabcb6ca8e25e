package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// changesNeeds asks for one statistic more in its second run.
func changesNeeds() {
	asked := 0
	sdk.Serve(&byHand{needs: sampling.Needs{P1: true, P2: true}, plan: openEvery, asks: func() sampling.Needs {
		asked++
		return sampling.Needs{P1: true, P2: asked > 1}
	}})
}
