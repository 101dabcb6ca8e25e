package main

import (
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// A row is made by hand: no model, no host.
func TestPlan(t *testing.T) {
	const blank = sampling.Masked | sampling.Eligible
	row := sampling.Row{
		Flags: []sampling.Flags{blank, sampling.Fixed, blank, blank, blank},
		P1:    []float32{0.8, 0, 0.9, 0.2, 0.75},
	}
	for _, c := range []struct {
		options Options
		want    []int32 // the surest first
	}{
		{Options{K: 2, Sure: 0.7}, []int32{2, 0}},
		{Options{K: 9, Sure: 0.7}, []int32{2, 0, 4}},
		{Options{K: 9, Sure: 0.95}, []int32{2}},
	} {
		if got := Plan(c.options)(sdk.NewRow(&row)).Sampling(); !slices.Equal(got.Open, c.want) {
			t.Errorf("%+v opens %v, want %v", c.options, got.Open, c.want)
		}
	}
}

// What every planner must do: see `mdmhost plugin check`.
func TestConformance(t *testing.T) { plugintest.Run(t, New) }
