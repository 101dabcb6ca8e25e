package graph

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
