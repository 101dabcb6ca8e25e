package main

import (
	"math"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// TestContract holds the planner against what hosts expect of every planner.
func TestContract(t *testing.T) { plugintest.Run(t, New) }

// TestTrust computes a logit by hand: 0.5 + 2 ReLU(1 + 3*2 - 4) - 7 ReLU(-1).
func TestTrust(t *testing.T) {
	net := Network{W1: [][]float64{{3, -4}, {0, 0}}, B1: []float64{1, -1}, W2: []float64{2, -7}, B2: 0.5}
	if got := net.Trust([]float64{2, 1}); got != 6.5 {
		t.Errorf("trust %v, want 6.5", got)
	}
}

// TestItLearned asks for a sure proposal among doubtful ones.
func TestItLearned(t *testing.T) {
	const blank = sampling.Masked | sampling.Eligible
	row := sampling.Row{
		Blanks:       3,
		Token:        []int32{10, 4, 10, 10},
		Flags:        []sampling.Flags{blank, sampling.Fixed, blank, blank},
		P1:           []float32{0.4, 0, 0.9999, 0.5},
		P2:           []float32{0.3, 0, 0.0001, 0.4},
		Entropy:      []float32{1.2, 0, 0.001, 0.9},
		LogpProposal: []float32{-0.9, 0, -0.0001, -0.7},
	}
	for _, c := range []struct {
		options Options
		want    []int32
	}{
		{Options{Sure: 0.9, Least: 1}, []int32{2}},
		{Options{Sure: 1, Least: 2}, []int32{2, 3}},
		{Options{Sure: 0, Least: 1}, []int32{2, 3, 0}},
		{Options{Sure: 0, Least: 1, Most: 2}, []int32{2, 3}},
	} {
		plan, err := Build(c.options, sampling.Run{})
		if err != nil {
			t.Fatal(err)
		}
		got := plan(sdk.NewRow(&row)).Sampling()
		if !slices.Equal(got.Open, c.want) || math.IsNaN(got.Metrics["trust"]) {
			t.Errorf("%+v opens %v with metrics %v, want %v", c.options, got.Open, got.Metrics, c.want)
		}
	}
}
