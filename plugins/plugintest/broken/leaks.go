package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// leaks keeps every step that it has seen.
func leaks() {
	var all [][]byte
	sdk.Serve(&byHand{plan: func(step *sampling.Step, out []sampling.Decision) error {
		page := make([]byte, 256<<10)
		for i := range page {
			page[i] = byte(i)
		}
		all = append(all, page)
		return openEvery(step, out)
	}})
}
