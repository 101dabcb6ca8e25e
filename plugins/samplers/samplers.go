// Package samplers lists the first-party samplers.
package samplers

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/gillespie"
	"github.com/mdmhost/mdmhost/plugins/samplers/infogain"
	"github.com/mdmhost/mdmhost/plugins/samplers/insertion"
	"github.com/mdmhost/mdmhost/plugins/samplers/masked"
)

// All returns the constructors by name.
func All() map[string]func() sampling.Sampler {
	return map[string]func() sampling.Sampler{
		"gillespie": gillespie.New,
		"infogain":  infogain.New,
		"insertion": insertion.New,
		"masked":    masked.New,
	}
}

// AsksPlanner tells whether a sampler of this program asks the planner; the others decide by themselves, whatever planner is named.
func AsksPlanner(name string) bool { return name == "masked" }
