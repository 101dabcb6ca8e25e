package evaluate_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/evaluate"
)

// Numbers by hand: rows of 2, 4 and 6 nats over 1, 2 and 6 tokens.
func TestRatio(t *testing.T) {
	m := evaluate.Ratio([]float64{2, 4, 6}, []float64{1, 2, 6})
	near(t, m.Value, 12.0/9, "ratio")
	d := []float64{2 - 4.0/3, 4 - 8.0/3, 6 - 8}
	near(t, m.Error, math.Sqrt((d[0]*d[0]+d[1]*d[1]+d[2]*d[2])*3/2)/9, "its error")
	near(t, evaluate.Mean([]float64{2, 4, 6}).Error, 2/math.Sqrt(3), "error of the mean")
	if one := evaluate.Mean([]float64{5}); one.Value != 5 || !math.IsNaN(one.Error) {
		t.Errorf("one number: %+v", one)
	}
	if none := evaluate.Ratio([]float64{0}, []float64{0}); !math.IsNaN(none.Value) {
		t.Errorf("nothing over nothing: %+v", none)
	}
	if inf := evaluate.Mean([]float64{1, math.Inf(1)}); !math.IsInf(inf.Value, 1) || !math.IsNaN(inf.Error) {
		t.Errorf("an impossible row: %+v", inf)
	}
}

// The squared errors are, on average, the variances of the means that they belong to. Each comparison of 4000 repetitions is
// at five standard errors: one false alarm in a million runs.
func TestErrorsAreRight(t *testing.T) {
	const repetitions, n = 4000, 12
	rng := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		of       func([]float64) evaluate.Measure
		variance float64
		draw     func(i int) float64
	}{
		"mean":                      {evaluate.Mean, 1.0 / n, func(int) float64 { return rng.NormFloat64() }},
		"draws":                     {evaluate.MeanOfDraws, 1.0 / n, func(int) float64 { return rng.NormFloat64() }},
		"draws of two alike rows":   {func(x []float64) evaluate.Measure { return evaluate.MeanOfDraws(x[:2]) }, 0.5, func(int) float64 { return rng.NormFloat64() }},
		"ratio of independent ones": {func(x []float64) evaluate.Measure { return evaluate.Ratio(x, ones(n)) }, 1.0 / n, func(int) float64 { return 3 + rng.NormFloat64() }},
	} {
		var squares, values []float64
		for range repetitions {
			x := make([]float64, n)
			for i := range x {
				x[i] = c.draw(i)
			}
			m := c.of(x)
			squares, values = append(squares, m.Error*m.Error), append(values, m.Value)
		}
		got := evaluate.Mean(squares)
		if z := (got.Value - c.variance) / got.Error; math.Abs(z) > 5 {
			t.Errorf("%s: squared error is %v on average, want %v", name, got, c.variance)
		}
		if spread := evaluate.Mean(values).Error * math.Sqrt(repetitions); math.Abs(spread*spread/c.variance-1) > 5*math.Sqrt(2.0/repetitions) {
			t.Errorf("%s: the means spread with variance %v, want %v", name, spread*spread, c.variance)
		}
	}
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// What strata explain is not in the error of draws: numbers that rise from stratum to stratum, and nothing else.
func TestDrawsOfStrata(t *testing.T) {
	x := make([]float64, 100)
	for i := range x {
		x[i] = float64(i)
	}
	all, strata := evaluate.Mean(x), evaluate.MeanOfDraws(x)
	if all.Value != strata.Value || strata.Error > all.Error/20 {
		t.Errorf("%v without strata, %v with them", all, strata)
	}
}

func TestMeasuresInWords(t *testing.T) {
	for want, m := range map[string]evaluate.Measure{
		"1.235 ± 0.012":       {Value: 1.23456, Error: 0.0123},
		"17 ± 23":             {Value: 17.2, Error: 23.4},
		"3.5000":              {Value: 3.5},
		"+Inf":                {Value: math.Inf(1), Error: math.NaN()},
		"0.123457 ± 0.000000": {Value: 0.1234567, Error: 1e-12},
		"12345.6 ± 2.0":       {Value: 12345.61, Error: 1.97},
		"0.50000 ± 0.00099":   {Value: 0.5, Error: 0.00099},
	} {
		if got := m.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	text, err := json.Marshal([]evaluate.Measure{{Value: 1, Error: 0.5}, {Value: math.Inf(1), Error: math.NaN()}})
	if want := `[{"value":1,"error":0.5},{"value":null,"error":null}]`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

func TestBoundOfRows(t *testing.T) {
	b := evaluate.NewBound("bound", []evaluate.Row{{Nats: 2, Tokens: 1, Characters: 4}, {Nats: 4, Tokens: 3, Characters: 4}})
	near(t, b.NatsPerRow.Value, 3, "nats a row")
	near(t, b.BitsPerToken.Value, 1.5/math.Ln2, "bits a token")
	near(t, b.BitsPerCharacter.Value, 0.75/math.Ln2, "bits a character")
	if b.Rows != 2 || b.Tokens != 4 || b.Characters != 8 {
		t.Errorf("%+v", b)
	}
	if none := evaluate.NewBound("bound", []evaluate.Row{{Nats: 2, Tokens: 1}}); none.BitsPerCharacter != nil {
		t.Error("bits per character of rows that spell nothing")
	}
}

func TestAccuracyOfAnswers(t *testing.T) {
	a := evaluate.NewAccuracy([]evaluate.Answer{{Free: 4, Right: 4, NFE: 4}, {Free: 4, Right: 1, NFE: 2}, {Free: 2, Right: 1, NFE: 3}})
	near(t, a.Cells.Value, 0.6, "cells")
	near(t, a.Rows.Value, 1.0/3, "rows")
	near(t, a.NFE, 3, "passes")
	if a.FreeCells != 10 || a.Asked != 3 {
		t.Errorf("%+v", a)
	}
}
