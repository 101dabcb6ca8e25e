package plugintest

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Rule is one thing that plugins must do.
type Rule struct {
	ID    string          // such as fixed-positions
	Theme string          // start, options, decisions, rows, faults, sampler, trainer, latency or replay
	Text  string          // the rule, one line
	Why   string          // what goes wrong without it
	Kinds []sampling.Kind // whom it is for; nil: everybody
}

// check is a rule with the code that looks at it.
type check struct {
	Rule
	process bool           // only for plugins in a process of their own
	value   bool           // only for those in this process
	after   []string       // rules that must hold for this one to be judged
	run     func(*session) // nil: looked at in passing, whenever the plugin answers
}

var (
	planners = []sampling.Kind{sampling.KindPlanner}
	samplers = []sampling.Kind{sampling.KindSampler}
	trainers = []sampling.Kind{sampling.KindTrainer}
	running  = []sampling.Kind{sampling.KindPlanner, sampling.KindSampler}
)

// table returns all checks in the order in which they run.
func table() []check {
	return slices.Concat(startChecks(), endChecks(), needsChecks(), optionChecks(), decisionChecks(), rowChecks(), samplerChecks(), trainerChecks(), faultChecks(),
		latencyChecks(), replayChecks())
}

// Rules returns the rules in the order of the report.
func Rules() []Rule {
	var out []Rule
	for _, c := range table() {
		out = append(out, c.Rule)
	}
	return out
}

func (c *check) isFor(kind sampling.Kind) bool {
	return c.Kinds == nil || slices.Contains(c.Kinds, kind)
}
