package graph

import "fmt"

// Kind is the type of an attribute.
type Kind int32

// The kinds that the framework writes; the numbers are ONNX's.
const (
	KindFloat   Kind = 1
	KindInt     Kind = 2
	KindString  Kind = 3
	KindTensor  Kind = 4
	KindGraph   Kind = 5
	KindFloats  Kind = 6
	KindInts    Kind = 7
	KindStrings Kind = 8
	KindTensors Kind = 9
	KindGraphs  Kind = 10
)

var kindNames = [...]string{"undefined", "float", "int", "string", "tensor", "graph", "list of floats", "list of ints", "list of strings",
	"list of tensors", "list of graphs"}

// String is the kind in words, such as "list of ints".
func (k Kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", int32(k))
}

// Attribute is AttributeProto: one named constant of a node. Kind says which field counts.
type Attribute struct {
	Name    string
	Kind    Kind
	Ref     string // inside a function: the function's attribute that gives the value
	F       float32
	I       int64
	S       []byte
	T       *Tensor
	G       *Graph
	Floats  []float32
	Ints    []int64
	Strings [][]byte
	Tensors []*Tensor
	Graphs  []*Graph
	Unknown []byte
}

// Int is an integer attribute.
func Int(name string, v int64) *Attribute { return &Attribute{Name: name, Kind: KindInt, I: v} }

// Ints is a list of integers.
func Ints(name string, v ...int64) *Attribute {
	return &Attribute{Name: name, Kind: KindInts, Ints: v}
}

// Float is a float attribute.
func Float(name string, v float32) *Attribute { return &Attribute{Name: name, Kind: KindFloat, F: v} }

// String is a text attribute.
func String(name, v string) *Attribute {
	return &Attribute{Name: name, Kind: KindString, S: []byte(v)}
}

// TensorValue is a tensor attribute.
func TensorValue(name string, v *Tensor) *Attribute {
	return &Attribute{Name: name, Kind: KindTensor, T: v}
}

// Ref is an attribute inside a function's body that takes its value from the function's attribute outer.
func Ref(name string, kind Kind, outer string) *Attribute {
	return &Attribute{Name: name, Kind: kind, Ref: outer}
}

// Attribute finds an attribute by name, or nil.
func (n *Node) Attribute(name string) *Attribute {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// IntAttr is an integer attribute, or otherwise where it is left out.
func (n *Node) IntAttr(name string, otherwise int64) int64 {
	if a := n.Attribute(name); a != nil {
		return a.I
	}
	return otherwise
}

// FloatAttr is a float attribute, or otherwise where it is left out.
func (n *Node) FloatAttr(name string, otherwise float32) float32 {
	if a := n.Attribute(name); a != nil {
		return a.F
	}
	return otherwise
}

// TextAttr is a string attribute, or otherwise where it is left out.
func (n *Node) TextAttr(name, otherwise string) string {
	if a := n.Attribute(name); a != nil {
		return string(a.S)
	}
	return otherwise
}

// IntsAttr is a list of integers, or nil where it is left out.
func (n *Node) IntsAttr(name string) []int64 {
	if a := n.Attribute(name); a != nil {
		return a.Ints
	}
	return nil
}

// StringsAttr is a list of texts, or nil where it is left out.
func (n *Node) StringsAttr(name string) []string {
	a := n.Attribute(name)
	if a == nil {
		return nil
	}
	out := make([]string, len(a.Strings))
	for i, s := range a.Strings {
		out[i] = string(s)
	}
	return out
}
