package sdk_test

import (
	"errors"
	"fmt"
	"math"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// fiveTokens is a row: a prompt, two blanks, a written token, and a blank that may not be opened yet.
func fiveTokens() sampling.Row {
	return sampling.Row{
		Token:   []int32{4, 9, 9, 7, 9},
		Flags:   []sampling.Flags{sampling.Fixed, sampling.Masked | sampling.Eligible, sampling.Masked | sampling.Eligible, 0, sampling.Masked},
		Entropy: []float32{0, 0.7, 0.2, 0.1, 0.4},
		P1:      []float32{0, 0.6, 0.9, 1, 0.8},
		Gumbel:  []float64{0, 1.5, -0.2, 0.3, 0},
		K:       2, TopIDs: []int32{0, 0, 3, 5, 5, 3, 7, 3, 3, 5}, TopLogp: []float32{0, 0, -0.5, -1.2, -0.1, -2.5, -0.01, -5, -0.2, -2},
		V: 2, Logits: []float32{0, 0, 1, 2, 3, 1, 0, 5, 1, 1},
	}
}

// A function that plans is tested with a row made of plain slices.
func ExampleNewRow() {
	in := fiveTokens()
	d := Calm(Options{K: 1})(sdk.NewRow(&in))
	fmt.Println(d.Sampling().Open)
	// Output: [2]
}

// What a row has, and where.
func ExampleRow() {
	in := fiveTokens()
	r := sdk.NewRow(&in)
	fmt.Println("eligible", r.Eligible().Indices(), "masked", r.Masked().Indices(), "written", r.Written().Indices(), "some", r.At(3, 1).Indices())
	ids, logp := r.TopAt(1)
	fmt.Println("best tokens", ids, logp, "logits", r.LogitsAt(1))
	// Output:
	// eligible [1 2] masked [1 2 4] written [3] some [3 1]
	// best tokens [3 5] [-0.5 -1.2] logits [1 2]
}

// Positions are chosen by what the row says of them.
func ExamplePositions() {
	in := fiveTokens()
	r := sdk.NewRow(&in)
	masked := r.Masked()
	fmt.Println("calmest", masked.SmallestBy(r.Entropy, 2).Indices())
	fmt.Println("surest", masked.LargestBy(r.P1, 1).Indices())
	fmt.Println("sure enough", masked.Where(func(i int) bool { return r.P1[i] > 0.7 }).Indices(), "of", masked.Len())
	fmt.Println("leftmost", masked.First(1).Indices())

	// As many as keep the sum of their entropies below a bound, the calmest first.
	sum, n := 0.0, 0
	for i := range masked.Ascending(r.Entropy) {
		if sum += float64(r.Entropy[i]); sum > 0.7 {
			break
		}
		n++
	}
	fmt.Println("within the bound", masked.SmallestBy(r.Entropy, n).Indices())
	for i := range masked.Descending(r.P1) {
		fmt.Println("surest of all", i)
		break
	}

	// Scores of the planner's own are slices by position.
	score := make([]float64, len(r.Token))
	for i := range score {
		score[i] = float64(r.P1[i]) * math.Exp(-float64(r.Entropy[i]))
	}
	fmt.Println("by a score", masked.LargestBy64(score, 1).Indices(), masked.SmallestBy64(score, 1).Indices())
	// Output:
	// calmest [2 4]
	// surest [2]
	// sure enough [2 4] of 3
	// leftmost [1]
	// within the bound [2 4]
	// surest of all 2
	// by a score [2] [1]
}

// Positions are drawn without replacement, each with a probability proportional to exp(weight), by noise that comes from the host: the
// result depends on the seed and the row alone.
func ExamplePositions_DrawBy() {
	in := fiveTokens()
	r := sdk.NewRow(&in)
	weight := []float32{0, -0.5, -0.1, 0, -0.2} // log-weights
	fmt.Println(r.Masked().DrawBy(weight, r.Gumbel, 2).Indices())
	fmt.Println(r.Masked().DrawBy64([]float64{0, 0, 9, 0, 0}, r.Gumbel, 1).Indices())
	// Output:
	// [1 4]
	// [2]
}

// A second number per position, from uniform noise.
func ExampleGumbelOf() {
	fmt.Printf("%.4f\n", sdk.GumbelOf(0.5))
	// Output: 0.3665
}

// A decision is put together of verbs. Positions are those before the step.
func ExampleDecision() {
	in := fiveTokens()
	r := sdk.NewRow(&in)
	show := func(d sdk.Decision) { fmt.Printf("%+v\n", d.Sampling().Metrics) }

	d := r.Open(r.Eligible().First(1)).
		Overwrite(2, 5).                                                      // the planner's own token at one position
		OverwriteWith(r.At(4), func(i int) int32 { return r.TopIDs[i*r.K] }). // and at many
		Remask(r.Written()).                                                  // sdk.CanRemask
		Metric("opened", 1).Metric("written", float64(r.Written().Len()))
	show(d)

	_ = r.Nothing().ActAs(4)                           // the steps up to the fourth would have changed nothing either
	_ = r.Open(r.Eligible()).NextT(0.25)               // go on at a time of the planner's choice
	_ = r.Remask(r.Written()).GoOn()                   // keep a full row going
	_ = r.Fill(sampling.FillArgmax).Done()             // finish the row at once
	_ = r.Done()                                       // even with masks left
	_ = r.Overwrite(1, 3).Fill(sampling.FillDraw)      // the rest as drawn
	_ = r.Nothing().Delete(r.At(3)).Insert(1, 2)       // insertion models: sdk.CanInsert
	_ = r.Nothing().Insert(1, 2).Refused(1)            // a third mask found no room
	_ = r.Fail(errors.New("the row has no proposals")) // ends the run
	// Output: map[opened:1 written:1]
}
