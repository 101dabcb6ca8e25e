// Package planners lists the first-party planners.
package planners

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/ancestral"
	"github.com/mdmhost/mdmhost/planners/confidence"
	"github.com/mdmhost/mdmhost/planners/density"
	"github.com/mdmhost/mdmhost/planners/dfm"
	"github.com/mdmhost/mdmhost/planners/dream"
	"github.com/mdmhost/mdmhost/planners/eb"
	"github.com/mdmhost/mdmhost/planners/edit"
	"github.com/mdmhost/mdmhost/planners/entropy"
	"github.com/mdmhost/mdmhost/planners/factor"
	"github.com/mdmhost/mdmhost/planners/genmd4"
	"github.com/mdmhost/mdmhost/planners/halton"
	"github.com/mdmhost/mdmhost/planners/hierarchy"
	"github.com/mdmhost/mdmhost/planners/klass"
	"github.com/mdmhost/mdmhost/planners/lowconfidence"
	"github.com/mdmhost/mdmhost/planners/margin"
	"github.com/mdmhost/mdmhost/planners/maskgit"
	"github.com/mdmhost/mdmhost/planners/p2"
	"github.com/mdmhost/mdmhost/planners/pcsampler"
	"github.com/mdmhost/mdmhost/planners/random"
	"github.com/mdmhost/mdmhost/planners/remdm"
	"github.com/mdmhost/mdmhost/planners/sequential"
	"github.com/mdmhost/mdmhost/planners/threshold"
	"github.com/mdmhost/mdmhost/planners/wino"
)

// All returns the first-party planners by name, each as the function that makes one.
func All() map[string]func() sampling.Planner {
	return map[string]func() sampling.Planner{
		"ancestral":      ancestral.New,
		"confidence":     confidence.New,
		"density":        density.New,
		"dfm":            dfm.New,
		"dream":          dream.New,
		"eb":             eb.New,
		"edit":           edit.New,
		"entropy":        entropy.New,
		"factor":         factor.New,
		"genmd4":         genmd4.New,
		"halton":         halton.New,
		"hierarchy":      hierarchy.New,
		"klass":          klass.New,
		"low_confidence": lowconfidence.New,
		"margin":         margin.New,
		"maskgit":        maskgit.New,
		"p2":             p2.New,
		"pc_sampler":     pcsampler.New,
		"random":         random.New,
		"remdm":          remdm.New,
		"sequential":     sequential.New,
		"threshold":      threshold.New,
		"wino":           wino.New,
	}
}
