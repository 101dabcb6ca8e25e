// Package count holds the count schedules that planners share: how many positions a step opens, as a function of the
// row's blanks, of its masks now and of the step. Every schedule opens all blanks by its last step, so its counts sum to
// the number of blanks.
//
// The definitions follow the public samplers whose names they carry.
package count

import (
	"fmt"
	"math"
)

// Stay returns how many of a row's masks stay masked after step (from 0, below steps). Blanks is the row's number of
// masks at its start, masked the number before the step. The result is between 0 and masked, and 0 at the last step.
type Stay func(blanks, masked, step, steps int) int

// Next returns how many positions to open, and the step that this count belongs to. That is the given step unless its
// count is zero: a forward pass has been paid by then, so the first later step that opens something is taken instead,
// and the steps between cost nothing. A row beyond its last step opens everything that is left.
func (s Stay) Next(blanks, masked, step, steps int) (open, actedAs int) {
	if masked <= 0 {
		return 0, step
	}
	for i := step; i < steps; i++ {
		if open = masked - s(blanks, masked, i, steps); open > 0 {
			return open, i
		}
	}
	return masked, step
}

// Fixed opens k positions a step, and all that is left at the last one.
func Fixed(k int) Stay {
	return func(_, masked, step, steps int) int {
		if step >= steps-1 {
			return 0
		}
		return max(masked-k, 0)
	}
}

// Auto opens k positions a step where that finishes the row (steps*k >= blanks), and is [Uniform] otherwise, so that a
// run with fewer steps than blanks spreads them evenly instead of leaving most to the last step.
func Auto(k int) Stay {
	fixed := Fixed(k)
	return func(blanks, masked, step, steps int) int {
		if k >= blanks || steps > (blanks-1)/k {
			return fixed(blanks, masked, step, steps)
		}
		return Uniform(blanks, masked, step, steps)
	}
}

// Uniform is LLaDA's transfer schedule: floor(blanks/steps) a step, one more in the first blanks mod steps of them.
func Uniform(blanks, masked, step, steps int) int {
	base, more := blanks/steps, blanks%steps
	return clamp(blanks-(step+1)*base-min(step+1, more), masked)
}

// LLaDA is what [Uniform] opens in a step, however many earlier steps opened (LLaDA's get_num_transfer_tokens).
func LLaDA(blanks, step, steps int) int {
	before := blanks
	if step > 0 {
		before = Uniform(blanks, blanks, step-1, steps)
	}
	return before - Uniform(blanks, blanks, step, steps)
}

// Linear keeps floor(blanks (1 - r)) masked, r = (step+1)/steps: the linear noise schedule, rounded in favour of opening.
func Linear(blanks, masked, step, steps int) int {
	return clamp(blanks*(steps-1-step)/steps, masked)
}

// Dream opens int(masked (1 - s/t)) on the time grid linspace(1, eps, steps+1), and the rest at the last step. The
// truncation makes it open late. Dream's own eps is 1e-3.
func Dream(eps float64) Stay {
	return func(_, masked, step, steps int) int {
		if step >= steps-1 {
			return 0
		}
		return masked - int(float64(float64(masked)*DreamTransfer(eps, step, steps)))
	}
}

// DreamTransfer is the probability 1 - s/t with which Dream opens a masked position in a step, 1 at the last.
func DreamTransfer(eps float64, step, steps int) float64 {
	if step >= steps-1 {
		return 1
	}
	// The conversions keep the compiler from fusing the products, which would round otherwise than the original.
	at := func(i int) float64 { return 1 + float64(float64((eps-1)*float64(i))/float64(steps)) }
	return 1 - at(step+1)/at(step)
}

// Alpha opens the rounded expectation of the reverse process with alpha_t = 1 - t: round(masked (alpha_s - alpha_t) /
// (1 - alpha_t)), halves to even.
func Alpha(_, masked, step, steps int) int {
	t, s := float64(steps-step)/float64(steps), float64(steps-step-1)/float64(steps)
	alphaT, alphaS := 1-t, 1-s
	return masked - min(int(math.RoundToEven(float64(masked)*((alphaS-alphaT)/(1-alphaT)))), masked)
}

// Arccos is the schedule of Halton-MaskGIT: max(step+1, floor(blanks (1 - arccos(r)/(pi/2)))) are open after a step, r =
// (step+1)/steps. Rounding is absorbed by 1e-6, so that a third of six is two everywhere.
func Arccos(blanks, masked, step, steps int) int {
	if step >= steps-1 {
		return 0
	}
	open := 1 - math.Acos(float64(step+1)/float64(steps))/(math.Pi*0.5)
	return clamp(blanks-max(step+1, int(float64(float64(blanks)*open)+1e-6)), masked)
}

// Named returns the schedule of that name; k counts for "auto" and "k" only.
func Named(name string, k int) (Stay, error) {
	switch name {
	case "auto":
		return Auto(k), nil
	case "k":
		return Fixed(k), nil
	case "uniform":
		return Uniform, nil
	case "linear":
		return Linear, nil
	case "dream":
		return Dream(1e-3), nil
	case "alpha":
		return Alpha, nil
	case "arccos":
		return Arccos, nil
	}
	if ratio, ok := ratios[name]; ok {
		return MaskGIT(ratio), nil
	}
	return nil, fmt.Errorf("schedule %q: expected one of auto, k, uniform, linear, dream, alpha, arccos, cosine, pow2, pow3, pow0.5, log, exp, stochastic_transfer; set planner.schedule to one of them", name)
}

func clamp(stay, masked int) int { return min(max(stay, 0), masked) }
