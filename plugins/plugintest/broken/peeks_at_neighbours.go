package main

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// peeksAtNeighbours opens what is surer than the mean of the batch.
func peeksAtNeighbours() {
	sdk.Serve(&byHand{needs: sampling.Needs{P1: true}, plan: func(step *sampling.Step, out []sampling.Decision) error {
		sum, n := 0.0, 0.0
		for _, r := range step.Rows {
			for i, f := range r.Flags {
				if f&sampling.Eligible != 0 {
					sum, n = sum+float64(r.P1[i]), n+1
				}
			}
		}
		for k := range step.Rows {
			r := &step.Rows[k]
			for i, f := range r.Flags {
				if f&sampling.Eligible != 0 && (float64(r.P1[i]) >= sum/n || r.Step >= r.Steps-1) {
					out[k].Open = append(out[k].Open, int32(i))
				}
			}
		}
		return nil
	}})
}
