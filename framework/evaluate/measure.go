package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
)

// Measure is a number with its standard error. Error is NaN where there is none: of one observation, or beside an infinite value.
type Measure struct {
	Value, Error float64
}

// Mean is the mean of x, with the standard error that the spread of x says.
func Mean(x []float64) Measure {
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	return Ratio(x, ones)
}

// Ratio is sum(x) / sum(n) over pairs, such as nats over tokens of rows, with the standard error of a ratio estimator, which
// knows that x grows with n (Cochran 1977, "Sampling Techniques", chapter 6). NaN where n sums to 0.
func Ratio(x, n []float64) Measure {
	sx, sn := 0.0, 0.0
	for i := range x {
		sx, sn = sx+x[i], sn+n[i]
	}
	m := Measure{sx / sn, math.NaN()}
	if len(x) < 2 || math.IsInf(m.Value, 0) {
		return m
	}
	spread := 0.0
	for i := range x {
		d := x[i] - m.Value*n[i]
		spread += d * d
	}
	m.Error = math.Sqrt(spread*float64(len(x))/float64(len(x)-1)) / math.Abs(sn)
	return m
}

// MeanOfDraws is the mean of x, draws of which neighbours come from neighbouring strata, such as bounds of one row at stratified
// times. The error is that of successive differences (Wolter 2007, "Introduction to Variance Estimation", chapter 8): what the
// strata explain is not in it. For independent draws it is that of [Mean] in expectation.
func MeanOfDraws(x []float64) Measure {
	m := Mean(x)
	if !finite(m.Error) {
		return m
	}
	sum := 0.0
	for i := range len(x) - 1 {
		d := x[i+1] - x[i]
		sum += d * d
	}
	m.Error = math.Sqrt(sum / float64(2*(len(x)-1)) / float64(len(x)))
	return m
}

// Times multiplies number and error with a factor of at least 0.
func (m Measure) Times(factor float64) Measure { return Measure{m.Value * factor, m.Error * factor} }

// Bits turns nats into bits.
func (m Measure) Bits() Measure { return m.Times(1 / math.Ln2) }

// String is "1.2345 ± 0.0067", the number with as many digits as its error has.
func (m Measure) String() string {
	if !finite(m.Error) || m.Error == 0 {
		return fmt.Sprintf("%.4f", m.Value)
	}
	digits := min(max(1-int(math.Floor(math.Log10(m.Error))), 0), 6)
	return fmt.Sprintf("%.*f ± %.*f", digits, m.Value, digits, m.Error)
}

// MarshalJSON writes {"value", "error"}, null for what is no finite number.
func (m Measure) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value *float64 `json:"value"`
		Error *float64 `json:"error"`
	}{number(m.Value), number(m.Error)})
}

func number(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
