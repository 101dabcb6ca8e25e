package main

import (
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

func wary() sampling.Sampler {
	return sdk.NewSampler("wary", Build, sdk.Needs(sdk.LogpProposal))
}

func TestSure(t *testing.T) {
	logp := []float32{float32(math.Log(.2)), float32(math.Log(.5)), float32(math.Log(.25)), float32(math.Log(.9))}
	for _, c := range []struct {
		open  []int32
		least float64
		want  []int32
	}{
		{[]int32{0, 1, 2}, .3, []int32{1}},
		{[]int32{2, 1, 3}, .3, []int32{1, 3}},
		{[]int32{2, 0}, .3, []int32{2}},
		{[]int32{0, 2}, 0, []int32{0, 2}},
		{nil, .3, nil},
	} {
		if got := sure(c.open, logp, c.least); !slices.Equal(got, c.want) {
			t.Errorf("of %v, at least %v: %v, want %v", c.open, c.least, got, c.want)
		}
	}
}

// TestContract checks the sampler as `mdmhost plugin check` does: with rows, sessions and models of the kit's own.
func TestContract(t *testing.T) {
	plugintest.RunSampler(t, wary)
}
