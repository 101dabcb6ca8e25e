package plugintest

import (
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// source is what values of a graph are computed from: a set of bits.
type source int

const (
	noise     source = 1 << iota // what the host or an operator draws
	positions                    // which positions are free
	clean                        // the tokens
)

// sourceOf are the kinds of inputs. Ranks are noise that is drawn over the free positions.
var sourceOf = map[spec.Kind]source{spec.Uniform: noise, spec.Time: noise, spec.Rank: noise | positions, spec.Free: positions, spec.Fixed: positions, spec.Tokens: clean}

// shown looks at what the networks that are trained and the loss are computed from, without a number: no graph is run.
func (s *session) shown() {
	const check = "masking"
	reply, err := s.build(s.o.Settings)
	if err != nil {
		s.blame(check, "Build", err)
		return
	}
	m, err := graph.Decode(reply.Training)
	if err != nil {
		return // told elsewhere
	}
	from := map[string]source{} // by value
	for _, in := range reply.Spec.Inputs {
		from[in.Name] = sourceOf[in.Kind]
	}
	var ids source
	for _, n := range m.Graph.Nodes {
		if slices.ContainsFunc(n.Attributes, func(a *graph.Attribute) bool { return a.G != nil || a.Graphs != nil }) {
			s.skip(check, "the training graph has graphs within operators, whose values are not followed")
			return
		}
		var of source
		for _, name := range n.Inputs {
			of |= from[name]
		}
		if strings.HasPrefix(n.Op, "Random") || n.Op == "Bernoulli" || n.Op == "Multinomial" {
			of |= noise
		}
		if graph.Key(n) == "mdm.Network" && s.trains(reply, n) {
			ids |= of
		}
		for _, name := range n.Outputs {
			from[name] = of
		}
	}
	switch loss := from[spec.Loss]; {
	case ids&clean == 0:
		s.find(Warning, check, "give the network the tokens with the mask in some places", "no network that is trained is shown anything of the tokens")
	case ids&noise == 0:
		s.find(Warning, check, "mask by noise of the host (inputs of kind uniform, time or rank)", "the networks are shown the tokens, and no noise has a part in it: nothing is masked, or always the same")
	case ids&positions == 0:
		s.find(Warning, check, "mask positions that are free (inputs of kind free, fixed or rank): the prompt and the padding stay as they are", "which positions are masked does not depend on which are free")
	case loss&clean == 0:
		s.find(Warning, check, "score the network's answer by the tokens", "the loss does not depend on the tokens")
	}
}

// trains tells whether a call of a network is of one that is trained.
func (*session) trains(reply *spec.Reply, call *graph.Node) bool {
	name := call.TextAttr("name", "")
	return slices.ContainsFunc(reply.Spec.Networks, func(n spec.Network) bool { return n.Name == name && !n.Frozen })
}
