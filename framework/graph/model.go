// Package graph reads, checks, builds and writes ONNX models.
//
// [Model] and the structs below it are plain data for what the framework works with. [Decode] and [Model.Encode] never copy tensor
// payloads, so that a model of gigabytes costs its structure only; [Open] and [Save] handle files with external data. [Check]
// lists what is wrong with a model, [Print] shows it to people. A [Builder] writes a graph, one method call an operator, and
// infers types and symbolic shapes ([Dim]) at every call.
//
// Fields that the structs do not model are kept as they came (Unknown) and written back, so Decode and Encode lose
// nothing but the denotations of types and dimensions.
package graph

import (
	"slices"
	"sort"
)

// Model is ModelProto.
type Model struct {
	IRVersion    int64
	Producer     string
	ModelVersion int64
	Doc          string
	Graph        *Graph // nil in a fragment without one
	Opsets       []Opset
	Functions    []*Function
	Metadata     []Entry
	Unknown      []byte
}

// Opset says which version of an operator set the model uses. The domain "" is ONNX's own ("ai.onnx").
type Opset struct {
	Domain  string
	Version int64
}

// Entry is one pair of a string map.
type Entry struct{ Key, Value string }

// Graph is GraphProto.
type Graph struct {
	Name         string
	Doc          string
	Nodes        []*Node
	Initializers []*Tensor
	Inputs       []*ValueInfo
	Outputs      []*ValueInfo
	Values       []*ValueInfo // types of values in between
	Unknown      []byte
}

// Node is NodeProto: one operator.
type Node struct {
	Name, Op, Domain string
	Overload         string
	Inputs           []string // "" where an optional input is left out
	Outputs          []string
	Attributes       []*Attribute
	Unknown          []byte
}

// Function is FunctionProto: an operator written with other operators.
type Function struct {
	Domain, Name, Overload string
	Inputs, Outputs        []string
	Attributes             []string     // names without a default
	Defaults               []*Attribute // attributes with a default
	Nodes                  []*Node
	Opsets                 []Opset
	Unknown                []byte
}

// ValueInfo is the name and type of a value.
type ValueInfo struct {
	Name    string
	Type    Type // Undefined where the value is no tensor
	Shape   []Dim
	HasRank bool   // false: the shape is not known, not even its rank
	Other   []byte // the encoded TypeProto of values that are no tensors
	Unknown []byte
}

// Dim is one dimension: a size, or a name, or nothing known (Size -1).
type Dim struct {
	Size int64 // -1 where it is not a number
	Name string
}

// Known is a dimension of n elements.
func Known(n int64) Dim { return Dim{Size: n} }

// Named is a dimension that every use of the name shares.
func Named(name string) Dim { return Dim{Size: -1, Name: name} }

// Opset returns the version of a domain, or 0 where the model does not import it.
func (m *Model) Opset(domain string) int64 {
	for _, o := range m.Opsets {
		if o.Domain == domain || domain == "" && o.Domain == "ai.onnx" {
			return o.Version
		}
	}
	return 0
}

// Feeds returns the inputs that a caller must give: those without an initializer of the same name.
func (g *Graph) Feeds() []*ValueInfo {
	set := make(map[string]bool, len(g.Initializers))
	for _, t := range g.Initializers {
		set[t.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(g.Inputs), func(v *ValueInfo) bool { return set[v.Name] })
}

// External returns the locations of external data, as they stand in the file, sorted, each once. They come from
// the file and must be checked before anything is opened.
func (m *Model) External() []string {
	var out []string
	m.Tensors(func(t *Tensor) {
		if l := t.Location(); t.IsExternal() {
			out = append(out, l)
		}
	})
	sort.Strings(out)
	return slices.Compact(out)
}

// Tensors visits every tensor of the model: initializers and attributes, those of inner graphs and functions included.
func (m *Model) Tensors(visit func(*Tensor)) {
	var nodes func([]*Node)
	var inside func(*Graph)
	attributes := func(as []*Attribute) {
		for _, a := range as {
			for _, t := range append(a.Tensors[:len(a.Tensors):len(a.Tensors)], a.T) {
				if t != nil {
					visit(t)
				}
			}
			for _, g := range append(a.Graphs[:len(a.Graphs):len(a.Graphs)], a.G) {
				inside(g)
			}
		}
	}
	nodes = func(ns []*Node) {
		for _, n := range ns {
			attributes(n.Attributes)
		}
	}
	inside = func(g *Graph) {
		if g == nil {
			return
		}
		for _, t := range g.Initializers {
			visit(t)
		}
		nodes(g.Nodes)
	}
	inside(m.Graph)
	for _, f := range m.Functions {
		attributes(f.Defaults)
		nodes(f.Nodes)
	}
}
