package plugintest_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// Everything of the first party conforms.
func TestFirstParty(t *testing.T) {
	for name, make := range planners.All() {
		t.Run("planner/"+name, func(t *testing.T) { t.Parallel(); plugintest.Run(t, make) })
	}
	for name, make := range samplers.All() {
		t.Run("sampler/"+name, func(t *testing.T) { t.Parallel(); plugintest.RunSampler(t, make) })
	}
	for name, make := range trainers.All() {
		t.Run("trainer/"+name, func(t *testing.T) { t.Parallel(); plugintest.RunTrainer(t, make) })
	}
}
