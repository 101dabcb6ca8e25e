package main

import (
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

func TestPlan(t *testing.T) {
	const blank = sampling.Masked | sampling.Eligible
	row := sampling.Row{
		Flags:   []sampling.Flags{blank, sampling.Fixed, blank, blank, blank},
		Entropy: []float32{0.4, 0, 0.1, 0.9, 0.2},
	}
	for _, c := range []struct {
		options Options
		want    []int32
	}{
		{Options{K: 2, Limit: 0.5}, []int32{2, 4}},
		{Options{K: 9, Limit: 0.5}, []int32{2, 4, 0}},
		{Options{K: 2, Limit: 0.05}, []int32{2}},
	} {
		got := Plan(c.options)(sdk.NewRow(&row)).Sampling()
		if !slices.Equal(got.Open, c.want) {
			t.Errorf("%+v opens %v, want %v", c.options, got.Open, c.want)
		}
	}
}

// TestContract checks the planner as `mdmhost plugin check` does: with rows of the kit's own, without a model.
func TestContract(t *testing.T) {
	plugintest.Run(t, func() sampling.Planner {
		return sdk.NewPlanner("calm", Plan, sdk.Needs(sdk.Entropy), sdk.Adaptive(), sdk.Pure())
	})
}
