package samplers_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers"
)

// AsksPlanner says what a run shows.
func TestAsksPlanner(t *testing.T) {
	for name := range samplers.All() {
		model := "sudoku"
		if name == "insertion" {
			model = "molecule-insertion"
		}
		cfg, err := config.Load(config.Sources{Flags: []config.Assignment{{Key: "model", Value: model, Flag: "--model"}, {Key: "sampler", Value: name, Flag: "--sampler"},
			{Key: "planner", Value: "random", Flag: "--planner"}, {Key: "runtime.threads", Value: "1", Flag: "--set"}}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true})
		if err != nil {
			t.Fatal(err)
		}
		row, err := h.Model().EncodePrompt("", 4)
		if model == "sudoku" {
			row, err = h.Model().EncodePrompt("", 81)
		}
		if err != nil {
			t.Fatal(err)
		}
		more := true
		a, err := h.Sample(t.Context(), 1, func() (sampling.Request, bool) {
			defer func() { more = false }()
			return sampling.Request{Tokens: row.Tokens, Fixed: row.Fixed, FrozenGap: row.FrozenGap, Cap: row.Cap, Steps: 2, Params: sampling.Params{Temperature: 1, TopP: 1}}, more
		}, func(r sampling.Result) error { return r.Err })
		if err != nil || a.Passes == 0 || (a.PlanCalls > 0) != samplers.AsksPlanner(name) {
			t.Errorf("%s: %d passes, %d calls of the planner, %v", name, a.Passes, a.PlanCalls, err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}
