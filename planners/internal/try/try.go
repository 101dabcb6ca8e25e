// Package try asks planners single questions, for their tests.
package try

import (
	"context"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Start begins a run of the planner with options as a JSON object and fails the test where the planner refuses.
func Start(t testing.TB, p sampling.Planner, options string) sampling.Needs {
	t.Helper()
	needs, err := p.Start(context.Background(), sampling.Run{ID: "test", Options: []byte(options), MaskID: Mask, V: Mask, Exponents: Exponents(Mask)})
	if err != nil {
		t.Fatal(err)
	}
	return needs
}

// Exponents are those of n tokens of equal speed, 1.
func Exponents(n int) []float32 { return slices.Repeat([]float32{1}, n) }

// Ask returns the planner's decision for one row; opened and remasked positions come in ascending order.
func Ask(t testing.TB, p sampling.Planner, row sampling.Row) sampling.Decision {
	t.Helper()
	out := make([]sampling.Decision, 1)
	if err := p.Plan(context.Background(), &sampling.Step{Run: "test", Rows: []sampling.Row{row}}, out); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out[0].Open)
	slices.Sort(out[0].Remask)
	return out[0]
}

// Mask is the mask id in tests.
const Mask = 99

// Row returns a row with the tokens, where Mask is a blank that may open and the rest is written. Fixed lists positions
// that are fixed. The row stands at step of steps, and all that is not fixed was blank at its start.
func Row(tokens []int32, step, steps int, fixed ...int) sampling.Row {
	r := sampling.Row{Step: step, Steps: steps, Token: tokens, Flags: make([]sampling.Flags, len(tokens))}
	for i, token := range tokens {
		if token == Mask {
			r.Flags[i] = sampling.Masked | sampling.Eligible
		}
	}
	for _, i := range fixed {
		r.Flags[i] = sampling.Fixed
	}
	r.Blanks = len(tokens) - len(fixed)
	return r
}

// Blank returns n mask tokens.
func Blank(n int) []int32 { return slices.Repeat([]int32{Mask}, n) }
