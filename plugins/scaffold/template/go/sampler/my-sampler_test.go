package main

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
)

// The steps of a row are a chain from time 1 to time 0.
func TestStepsAreAChain(t *testing.T) {
	for _, power := range []float64{0.1, 1, 2.5, 10} {
		at := 1.0
		for i := range 7 {
			a := Options{Power: power}.Step(sampling.RowState{Slot: 3, Step: i, Steps: 7})
			if a.Slot != 3 || a.T != at || !(a.S < a.T) || a.AlphaT != 1-a.T || a.AlphaS != 1-a.S {
				t.Errorf("power %v, step %d: %+v after time %v", power, i, a, at)
			}
			at = a.S
		}
		if at != 0 {
			t.Errorf("power %v: the last step ends at %v", power, at)
		}
	}
}

// A planner's wish is the beginning of the next step.
func TestAPlannersTime(t *testing.T) {
	a := Options{Power: 1}.Step(sampling.RowState{Step: 1, Steps: 4, NextT: 0.875})
	if a.T != 0.875 || a.S != 0.625 {
		t.Errorf("from %v to %v, want from 0.875 to 0.625", a.T, a.S)
	}
}

// What every sampler must do: see `mdmhost plugin check`.
func TestConformance(t *testing.T) { plugintest.RunSampler(t, New) }
