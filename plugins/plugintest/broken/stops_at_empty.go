package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// stopsAtEmpty waits for the first row of a step, which may have none.
func stopsAtEmpty() {
	rows := make(chan sampling.Row)
	sdk.Serve(&byHand{plan: func(step *sampling.Step, out []sampling.Decision) error {
		go func() {
			for _, r := range step.Rows {
				rows <- r
			}
		}()
		first := <-rows
		for range step.Rows[1:] {
			<-rows
		}
		_ = first
		return openEvery(step, out)
	}})
}
