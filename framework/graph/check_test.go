package graph

import (
	"path/filepath"
	"strings"
	"testing"
)

// checked is a sound model with a function that has attributes, an initializer and a graph inside a node.
func checked() *Model {
	inner := func(name, of string) *Attribute {
		return &Attribute{Name: name, Kind: KindGraph, G: &Graph{Name: name, Nodes: []*Node{{Op: "Neg", Inputs: []string{of}, Outputs: []string{name}}},
			Outputs: []*ValueInfo{{Name: name}}}}
	}
	return &Model{IRVersion: 10, Opsets: []Opset{{"", 20}, {"own", 1}},
		Graph: &Graph{Name: "g",
			Inputs:       []*ValueInfo{{Name: "x", Type: Float32}, {Name: "c", Type: Bool}},
			Initializers: []*Tensor{OfFloats("w", []int64{2}, []float32{1, 2})},
			Nodes: []*Node{
				{Name: "mul", Op: "Mul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}},
				{Name: "call", Op: "Leak", Domain: "own", Inputs: []string{"y"}, Outputs: []string{"z"}, Attributes: []*Attribute{Float("slope", 0.5)}},
				{Name: "clip", Op: "Clip", Inputs: []string{"z", "", "y"}, Outputs: []string{"low"}},
				{Name: "if", Op: "If", Inputs: []string{"c"}, Outputs: []string{"out"}, Attributes: []*Attribute{inner("then_branch", "low"), inner("else_branch", "x")}},
			},
			Outputs: []*ValueInfo{{Name: "out"}, {Name: "z"}, {Name: "x"}},
		},
		Functions: []*Function{
			{Domain: "own", Name: "Leak", Inputs: []string{"x"}, Outputs: []string{"y"}, Defaults: []*Attribute{Float("slope", 0.1)}, Opsets: []Opset{{"", 20}, {"own", 1}},
				Nodes: []*Node{{Name: "half", Op: "Half", Domain: "own", Inputs: []string{"x"}, Outputs: []string{"h"}},
					{Name: "leaky", Op: "LeakyRelu", Inputs: []string{"h"}, Outputs: []string{"y"}, Attributes: []*Attribute{Ref("alpha", KindFloat, "slope")}}}},
			{Domain: "own", Name: "Half", Inputs: []string{"x"}, Outputs: []string{"y"}, Opsets: []Opset{{"", 20}},
				Nodes: []*Node{{Name: "add", Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"y"}}}},
		}}
}

func TestCheck(t *testing.T) {
	if err := Check(checked()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want  string
		spoil func(m *Model, g *Graph)
	}{
		{"there is no graph", func(m *Model, _ *Graph) { m.Graph = nil }},
		{"IR version 7; expected 3 or higher, 8 or higher with functions", func(m *Model, _ *Graph) { m.IRVersion = 7 }},
		{`the model imports the opset of domain "ai.onnx" as 20 and as 19`, func(m *Model, _ *Graph) { m.Opsets = append(m.Opsets, Opset{"ai.onnx", 19}) }},
		{`node "mul": the opset of domain "" is not imported`, func(m *Model, _ *Graph) { m.Opsets = m.Opsets[1:] }},
		{`node "call": the opset of domain "own" is not imported`, func(m *Model, _ *Graph) { m.Opsets = m.Opsets[:1] }},
		{`function own.Leak: node "leaky": the opset of domain "" is not imported`, func(m *Model, _ *Graph) { m.Functions[0].Opsets = m.Functions[0].Opsets[1:] }},
		{"function own.Half: there are two", func(m *Model, _ *Graph) { m.Functions = append(m.Functions, m.Functions[1]) }},
		{`function own.Half: node "add" calls own.Leak, which calls it`, func(m *Model, _ *Graph) {
			m.Functions[1].Opsets = m.Functions[0].Opsets
			m.Functions[1].Nodes[0].Op, m.Functions[1].Nodes[0].Domain = "Leak", "own"
		}},
		{`refers to "slop", which is no attribute of a function around it`, func(m *Model, _ *Graph) { m.Functions[0].Nodes[1].Attributes[0].Ref = "slop" }},
		{`refers to "slope", which is no attribute of a function around it`, func(_ *Model, g *Graph) { g.Nodes[1].Attributes[0].Ref = "slope" }},
		{"attribute slope is listed with a default and without", func(m *Model, _ *Graph) { m.Functions[0].Attributes = []string{"slope"} }},
		{"function own.Leak: output \"q\" is written by no node", func(m *Model, _ *Graph) { m.Functions[0].Outputs[0] = "q" }},
		{`node "call": attribute slop is unknown; own.Leak has slope`, func(_ *Model, g *Graph) { g.Nodes[1].Attributes[0].Name = "slop" }},
		{`node "call": 2 inputs given; own.Leak takes 0 to 1 input`, func(_ *Model, g *Graph) { g.Nodes[1].Inputs = []string{"x", "x"} }},
		{`node "call": 2 outputs wanted; own.Leak gives 0 to 1 output`, func(_ *Model, g *Graph) { g.Nodes[1].Outputs = []string{"z", "q"} }},
		{`node "mul": reads "z", which node "call" writes later; sort the nodes`, func(_ *Model, g *Graph) { g.Nodes[0].Inputs[1] = "z" }},
		{`node "mul": reads "q", which nothing writes`, func(_ *Model, g *Graph) { g.Nodes[0].Inputs[1] = "q" }},
		{`node "call": the name "y" is taken`, func(_ *Model, g *Graph) { g.Nodes[1].Outputs[0] = "y" }},
		{`input: the name "x" is taken`, func(_ *Model, g *Graph) { g.Inputs = append(g.Inputs, g.Inputs[0]) }},
		{`initializer: the name "w" is taken`, func(_ *Model, g *Graph) { g.Initializers = append(g.Initializers, g.Initializers[0]) }},
		{`output "q" is written by no node`, func(_ *Model, g *Graph) { g.Outputs[0].Name = "q" }},
		{`output "z" is listed twice`, func(_ *Model, g *Graph) { g.Outputs[0].Name = "z" }},
		{`node "if": node 0 (Neg): reads "q", which nothing writes`, func(_ *Model, g *Graph) { g.Nodes[3].Attributes[0].G.Nodes[0].Inputs[0] = "q" }},
		{`node "if": node "": the name "y" is taken`, func(_ *Model, g *Graph) { g.Nodes[3].Attributes[0].G.Nodes[0].Outputs[0] = "y" }},
		{`node "if": the attribute else_branch is missing`, func(_ *Model, g *Graph) { g.Nodes[3].Attributes = g.Nodes[3].Attributes[:1] }},
		{`node "if": attribute then_branch is empty`, func(_ *Model, g *Graph) { g.Nodes[3].Attributes[0].G = nil }},
		{`node "mul": operator Mull is unknown; did you mean Mul?`, func(_ *Model, g *Graph) { g.Nodes[0].Op = "Mull" }},
		{`node "mul": operator mdm.Silv is unknown; did you mean mdm.Silu?`, func(m *Model, g *Graph) {
			g.Nodes[0].Op, g.Nodes[0].Domain, m.Opsets[1].Domain = "Silv", "mdm", "mdm"
		}},
		{`node "clip": 4 inputs given; Clip takes 1 to 3 inputs`, func(_ *Model, g *Graph) { g.Nodes[2].Inputs = []string{"z", "", "y", "x"} }},
		{`node "mul": attribute axis is unknown; Mul has no attributes`, func(_ *Model, g *Graph) { g.Nodes[0].Attributes = []*Attribute{Int("axis", 1)} }},
		{"operator Upsample ended with opset 10, the graph has 20", func(_ *Model, g *Graph) { g.Nodes[0].Op = "Upsample" }},
		{`tensor "w": 8 bytes of data; expected 12 for float32[3]`, func(_ *Model, g *Graph) { g.Initializers[0].Dims[0] = 3 }},
		{`tensor "w": dimensions [-2]; expected sizes`, func(_ *Model, g *Graph) { g.Initializers[0].Dims[0] = -2 }},
		{`tensor "w": dimensions [4611686018427387904 4]; expected sizes whose product fits 63 bits`, func(_ *Model, g *Graph) { g.Initializers[0].Dims = []int64{1 << 62, 4} }},
		{`tensor "w": element type type 99; expected a type of ONNX`, func(_ *Model, g *Graph) { g.Initializers[0].Type = 99 }},
		{`tensor "w": 0 elements of data; expected 2 for float32[2]`, func(_ *Model, g *Graph) { g.Initializers[0].Raw = nil }},
		{`tensor "w": external data in "/etc/passwd"; expected a path inside the model's folder`, func(_ *Model, g *Graph) {
			g.Initializers[0].Raw, g.Initializers[0].External = nil, []Entry{{"location", "/etc/passwd"}}
		}},
	} {
		m := checked()
		c.spoil(m, m.Graph)
		if err := Check(m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

func TestCheckListsAll(t *testing.T) {
	m := checked()
	m.Graph.Nodes[0].Inputs[0], m.Graph.Nodes[0].Op, m.Graph.Outputs[0].Name = "q", "Mull", "nothing"
	err := Check(m)
	if err == nil || !strings.HasPrefix(err.Error(), "model g: 3 problems:\nnode \"mul\": reads") || strings.Count(err.Error(), "\n") != 3 {
		t.Error(err)
	}
	for range 100 {
		m.Graph.Outputs = append(m.Graph.Outputs, m.Graph.Outputs[0])
	}
	if err := Check(m); err == nil || !strings.HasSuffix(err.Error(), "\nand 53 more") {
		t.Error(err)
	}
}

// TestCheckPayloads: every field that can hold a tensor's elements is counted.
func TestCheckPayloads(t *testing.T) {
	for _, x := range []*Tensor{
		{Type: Float32, Dims: []int64{2}, Floats: make([]byte, 8)}, {Type: 14, Dims: []int64{1}, Floats: make([]byte, 8)},
		{Type: Float64, Dims: []int64{2}, Doubles: make([]byte, 16)}, {Type: 15, Dims: []int64{1}, Doubles: make([]byte, 16)},
		{Type: Int64, Dims: []int64{2}, Int64s: []byte{0x80, 1, 3}}, {Type: 13, Dims: []int64{2}, Uint64s: []byte{0x80, 1, 3}},
		{Type: Text, Dims: []int64{1}, Strings: [][]byte{nil}}, {Type: Bool, Dims: []int64{2}, Int32s: []byte{0, 1}}, {Type: 22, Dims: []int64{3}, Int32s: []byte{0, 1}},
		{Type: 22, Dims: []int64{3}, Raw: []byte{0, 1}}, {Type: Float16, Dims: []int64{3}, Raw: make([]byte, 6)}, {Type: Float32, Dims: []int64{0, 5}}, {Type: Int8, Raw: []byte{1}},
	} {
		if err := x.check(); err != nil {
			t.Error(err)
		}
		if x.Dims = append([]int64{7}, x.Dims...); x.Dims[len(x.Dims)-1] != 5 && x.check() == nil {
			t.Errorf("%s%v: no error", x.Type, x.Dims)
		}
	}
}

// TestExportedModels: what exporters of others write passes, and inference knows every operator in it.
func TestExportedModels(t *testing.T) {
	var models []string
	for _, place := range []string{"../model/embedded/*/onnx/*.onnx", "../training/foreign/testdata/*.onnx"} {
		found, err := filepath.Glob(place)
		if err != nil || len(found) == 0 {
			t.Fatal(place, found, err)
		}
		models = append(models, found...)
	}
	for _, path := range models {
		m, err := Open(path)
		if err != nil {
			t.Error(err)
			continue
		}
		b := NewBuilder(path, m.Opset(""))
		bind := map[string]Value{}
		for _, v := range m.Graph.Feeds() {
			bind[v.Name] = b.Input(v.Name, v.Type, v.Shape...)
		}
		var outputs []Output
		for name, v := range b.Replay(m, bind, nil) {
			outputs = append(outputs, Output{"again/" + name, v})
		}
		if _, err := b.Model(outputs...); err != nil {
			t.Error(err)
		}
		var text strings.Builder
		if err := Print(&text, m); err != nil || strings.Contains(text.String(), ": ? = ") {
			t.Error(path, err, "an operator is not known")
		}
	}
}
