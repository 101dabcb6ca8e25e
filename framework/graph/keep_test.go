package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeep: what an output needs stays, what the graphs inside its nodes read, too, and nothing else.
func TestKeep(t *testing.T) {
	inner := &Graph{Nodes: []*Node{{Op: "Add", Inputs: []string{"far", "w"}, Outputs: []string{"in"}}}, Outputs: []*ValueInfo{{Name: "in"}}}
	m := &Model{Graph: &Graph{
		Inputs:       []*ValueInfo{{Name: "x"}, {Name: "flag"}, {Name: "temperature"}},
		Initializers: []*Tensor{OfFloats("w", []int64{1}, []float32{1}), OfFloats("v", []int64{1}, []float32{1})},
		Nodes: []*Node{
			{Op: "Neg", Inputs: []string{"x"}, Outputs: []string{"far"}},
			{Op: "Mul", Inputs: []string{"x", "temperature"}, Outputs: []string{"hot"}},
			{Op: "If", Inputs: []string{"flag", ""}, Outputs: []string{"y", "unread"}, Attributes: []*Attribute{{Name: "then_branch", Kind: KindGraph, G: inner}}},
			{Op: "Add", Inputs: []string{"hot", "v"}, Outputs: []string{"z"}},
		},
		Outputs: []*ValueInfo{{Name: "z"}, {Name: "y"}},
	}}
	names := func(m *Model) (out []string) {
		for _, v := range m.Graph.Inputs {
			out = append(out, v.Name)
		}
		for _, v := range m.Graph.Initializers {
			out = append(out, v.Name)
		}
		for _, n := range m.Graph.Nodes {
			out = append(out, n.Op)
		}
		for _, v := range m.Graph.Outputs {
			out = append(out, v.Name)
		}
		return out
	}
	all := names(m)
	if d := cmp.Diff([]string{"x", "flag", "w", "Neg", "If", "y"}, names(Keep(m, "y", "nothing"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"x", "temperature", "v", "Mul", "Add", "z"}, names(Keep(m, "z"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(all, names(m)); d != "" {
		t.Error("the model changed:", d)
	}
}
