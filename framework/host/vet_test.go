package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Who opens a host may refuse its plugins for what they say of themselves, before they see options: a wrong one goes unnoticed here.
func TestVet(t *testing.T) {
	cfg, err := config.Load(config.Sources{Flags: []config.Assignment{{Key: "model", Value: "sudoku", Flag: "--model"}, {Key: "planner", Value: "pc_sampler", Flag: "--planner"},
		{Key: "planner.frequencies", Value: "none", Flag: "--set"}}})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: true, Vet: func(planner, sampler sampling.Description) error {
		if !strings.Contains(planner.OptionsSchema, `"frequencies"`) || sampler.Kind != sampling.KindSampler {
			t.Errorf("planner %+v, sampler %+v", planner, sampler)
		}
		return refused
	}})
	if h != nil || !errors.Is(err, refused) || strings.Contains(err.Error(), "none") {
		t.Errorf("error %v", err)
	}
}
