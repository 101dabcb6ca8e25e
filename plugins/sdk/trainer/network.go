package trainer

import (
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Call is what a network is called with.
type Call struct {
	named map[string]graph.Value
	time  graph.Value
}

// IDs calls a network with input_ids, int64 [B, L].
func IDs(ids graph.Value) Call { return Call{named: map[string]graph.Value{"input_ids": ids}} }

// At tells the network the time, float32 [B, 1] or [B], 1 where everything is masked. A network without time is not told.
func (c Call) At(t graph.Value) Call {
	c.time = t
	return c
}

// With gives another input by its name.
func (c Call) With(name string, v graph.Value) Call {
	c.named = maps.Clone(c.named)
	c.named[name] = v
	return c
}

// suppressed is the logit of a token that cannot be. Its probability is exactly 0, as with -Inf, and its gradient, too; but it is
// a number, so that the entropy of the distribution is one.
const suppressed = -1e9

// Network calls a network and returns its outputs by name. Where the network takes them and the call does not give them, it
// gets attention_mask, which is the data's, and timesteps, which are the call's time; it is an error to leave the time out.
// The output "logits" of width V comes as float32 with -1e9 added at suppressed tokens: they have probability 0 and no gradient.
func (in Inputs) Network(name string, c Call) map[string]graph.Value {
	g := in.g
	g.Helper()
	i := slices.IndexFunc(in.spec.Networks, func(n spec.Network) bool { return n.Name == name })
	if i < 0 {
		return g.Network(name, c.named) // says which there are
	}
	named := maps.Clone(c.named)
	for _, p := range in.spec.Networks[i].Signature.Inputs {
		if named[p.Name].Given() {
			continue
		}
		switch p.Name {
		case "attention_mask":
			named[p.Name] = in.AttentionMask()
		case "timesteps":
			if !c.time.Given() {
				g.Fail("network %q takes timesteps; give the time, as in trainer.IDs(ids).At(t)", name)
				return map[string]graph.Value{}
			}
			t := g.Cast(c.time, p.Type)
			if t.Rank() == 2 {
				t = g.Squeeze(t, 1)
			}
			named[p.Name] = t
		}
	}
	out := g.Network(name, named)
	if logits, ok := out["logits"]; ok && logits.Dim(-1) == graph.Known(int64(in.task.V)) {
		out["logits"] = in.possible(g.Cast(logits, graph.Float32))
	}
	return out
}

// possible takes the suppressed tokens out.
func (in Inputs) possible(logits graph.Value) graph.Value {
	in.g.Helper()
	if len(in.task.Suppressed) == 0 {
		return logits
	}
	if !in.suppress.Given() {
		row := make([]float32, in.task.V)
		for _, id := range in.task.Suppressed {
			row[id] = suppressed
		}
		in.suppress = in.g.Floats([]int64{int64(in.task.V)}, row)
	}
	return in.g.Add(logits, in.suppress)
}
