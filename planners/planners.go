// Package planners lists the first-party planners.
package planners

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/confidence"
	"github.com/mdmhost/mdmhost/planners/eb"
	"github.com/mdmhost/mdmhost/planners/entropy"
	"github.com/mdmhost/mdmhost/planners/margin"
	"github.com/mdmhost/mdmhost/planners/p2"
	"github.com/mdmhost/mdmhost/planners/random"
	"github.com/mdmhost/mdmhost/planners/sequential"
)

// All returns the first-party planners by name, each as the function that makes one.
func All() map[string]func() sampling.Planner {
	return map[string]func() sampling.Planner{
		"confidence": confidence.New,
		"eb":         eb.New,
		"entropy":    entropy.New,
		"margin":     margin.New,
		"p2":         p2.New,
		"random":     random.New,
		"sequential": sequential.New,
	}
}
