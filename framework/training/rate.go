package training

import (
	"fmt"
	"math"
)

// Rate is the learning rate over a run: a linear warm-up to Peak, then the shape of Kind down to Floor at the last step.
type Rate struct {
	Kind   string  // "constant", "cosine" or "linear"
	Peak   float64 // largest learning rate
	Floor  float64 // the rate at the end, as a share of Peak
	Warmup int64   // steps of the warm-up
}

// At is the learning rate of a step, 1 to total.
func (r Rate) At(step, total int64) float64 {
	if step < r.Warmup {
		return r.Peak * float64(step) / float64(r.Warmup)
	}
	done := float64(step-r.Warmup) / float64(max(1, total-r.Warmup))
	left := 1.0
	switch r.Kind {
	case "cosine":
		left = (1 + math.Cos(math.Pi*min(done, 1))) / 2
	case "linear":
		left = 1 - min(done, 1)
	}
	return r.Peak * (r.Floor + (1-r.Floor)*left)
}

func (r Rate) check() error {
	switch r.Kind {
	case "constant", "cosine", "linear":
		return nil
	}
	return fmt.Errorf("optimizer.schedule %q: expected constant, cosine or linear", r.Kind)
}
