package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// subject is one side of a comparison: run does one measurement and returns milliseconds.
type subject struct {
	name string
	run  func() (float64, error)
}

// pause lets threads that wait actively for more work fall asleep before somebody else is measured.
const pause = 20 * time.Millisecond

// interleave measures the subjects in turns, A B C A B C, for as many rounds as fit into the budget, from least to most
// of them, after one round that warms up and does not count. It returns a row of measurements for each subject. The
// order is turned by one every round, so that nobody always follows the same neighbour.
func interleave(budget time.Duration, least, most int, subjects ...subject) ([][]float64, error) {
	out := make([][]float64, len(subjects))
	start := time.Now()
	rounds := most
	for round := -1; round < rounds; round++ {
		for i := range subjects {
			at := (i + round + 1) % len(subjects)
			time.Sleep(pause)
			ms, err := subjects[at].run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", subjects[at].name, err)
			}
			if round >= 0 {
				out[at] = append(out[at], ms)
			}
		}
		if round < 0 {
			rounds = min(max(int(budget/time.Since(start)), least), most)
		}
	}
	return out, nil
}

// median returns the middle of the values.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// paired is the median of a[i]/b[i]: neighbours in time share the machine's mood.
func paired(a, b []float64) float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return median(q)
}

// report prints one figure. The target is such as "<=1.05", or empty.
func report(w io.Writer, name string, value float64, target string) error {
	if target != "" {
		target = " target " + target
	}
	_, err := fmt.Fprintf(w, "ratio %s %.4g%s\n", name, value, target)
	return err
}
