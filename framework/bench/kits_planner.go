package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// kitArgument makes this program a planner that is written with the Go kit; the planner's name follows.
const kitArgument = "__kit"

// goKit starts this program as one of the planners of [serveKit].
func goKit(planner string) supervise.Spec {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return supervise.Spec{Name: "go " + planner, Path: self, Args: []string{kitArgument, planner}}
}

// pythonKit returns what starts the same planners of peers/kits.py, written with the Python kit.
func pythonKit(python, script string) (func(planner string) supervise.Spec, error) {
	source, err := filepath.Abs("plugins/python")
	if err != nil {
		return nil, err
	}
	if python, err = filepath.Abs(python); err != nil {
		return nil, err
	}
	if _, err := os.Stat(python); err != nil {
		return nil, fmt.Errorf("%w; scripts/setup-python-kit.sh makes the environment", err)
	}
	return func(planner string) supervise.Spec {
		return supervise.Spec{Name: "python " + planner, Path: python, Args: []string{"-B", script, planner}, Env: []string{"PYTHONPATH=" + source}}
	}, nil
}

// serveKit serves a planner as a stranger's main function would. Each opens one position of every row.
func serveKit(planner string) {
	type none struct{}
	by := func(needs sdk.Statistic, score func(sdk.Row) []float32) {
		sdk.ServePlanner(planner, func(none) sdk.PlanRow {
			return func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible().SmallestBy(score(r), 1)) }
		}, sdk.Needs(needs), sdk.Pure())
	}
	var reused []float32
	each := func(r sdk.Row, of func(logits []float32) float32) []float32 {
		reused = reused[:0]
		for i := range r.Token {
			reused = append(reused, of(r.Logits[i*r.V:(i+1)*r.V]))
		}
		return reused
	}
	switch planner {
	case "entropy":
		by(sdk.Entropy, func(r sdk.Row) []float32 { return r.Entropy })
	case "touch": // reads one logit of every position
		by(sdk.Logits, func(r sdk.Row) []float32 {
			return each(r, func(logits []float32) float32 { return logits[0] })
		})
	case "largest": // reads all of them
		by(sdk.Logits, func(r sdk.Row) []float32 { return each(r, largest) })
	}
	fmt.Fprintf(os.Stderr, "bench: no planner %q\n", planner)
	os.Exit(2)
}

func largest(logits []float32) float32 {
	m := logits[0]
	for _, x := range logits {
		if x > m {
			m = x
		}
	}
	return m
}
