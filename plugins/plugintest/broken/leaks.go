package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// leaks keeps something of every step that it has seen: 256 KiB, or 12 MiB.
func leaks()     { keeps(256 << 10) }
func leaksFast() { keeps(12 << 20) }

func keeps(bytes int) {
	var all [][]byte
	sdk.Serve(&byHand{plan: func(step *sampling.Step, out []sampling.Decision) error {
		page := make([]byte, bytes)
		for i := range page {
			page[i] = byte(i)
		}
		all = append(all, page)
		return openEvery(step, out)
	}})
}
