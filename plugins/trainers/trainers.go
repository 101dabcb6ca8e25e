// Package trainers lists the first-party trainers.
package trainers

import (
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/flexmdm"
	"github.com/mdmhost/mdmhost/plugins/trainers/genmd4"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
	"github.com/mdmhost/mdmhost/plugins/trainers/md4"
	"github.com/mdmhost/mdmhost/plugins/trainers/p2planner"
	"github.com/mdmhost/mdmhost/plugins/trainers/papl"
)

// All returns the constructors by name.
func All() map[string]func() spec.Trainer {
	return map[string]func() spec.Trainer{"flexmdm": flexmdm.New, "genmd4": genmd4.New, "loflexmdm": loflexmdm.New, "md4": md4.New, "p2planner": p2planner.New, "papl": papl.New}
}
