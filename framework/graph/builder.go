package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Builder writes a graph, one method call an operator. Types and shapes are inferred at every call. The first mistake is
// kept with the line of the caller, later calls do nothing, and [Builder.Err] and [Builder.Model] return it: a formula
// reads as a formula, and is checked where it is wrong.
type Builder struct {
	name      string
	opset     int64
	nodes     []*Node
	inputs    []Value
	values    map[string]*info
	producer  map[string]*Node
	inits     []*Tensor
	constants map[string]Value
	functions map[string]*Function
	opsets    map[string]int64 // domains besides ONNX's own
	scope     []string
	counts    map[string]int
	unknowns  int
	networks  map[string]Signature
	function  bool // a function's body: constants are nodes
	calls     int  // functions that the present one is called by
	steps     int  // nodes of functions that inference went through
	helpers   map[string]bool
	err       error
}

// Opsets that the builder writes.
const (
	MinOpset     = 17
	MaxOpset     = 23
	DefaultOpset = 20
)

// Domain is the domain of the framework's own operators, each of which is also a function of stock operators.
const Domain = "mdm"

// Contrib is the domain of ONNX Runtime's own operators.
const Contrib = "com.microsoft"

// NewBuilder begins a graph. name is for messages; opset is that of ONNX's own operators, 17 to 23.
func NewBuilder(name string, opset int64) *Builder {
	b := &Builder{name: name, opset: opset, values: map[string]*info{}, producer: map[string]*Node{}, constants: map[string]Value{},
		functions: map[string]*Function{}, opsets: map[string]int64{}, counts: map[string]int{}}
	if opset < MinOpset || opset > MaxOpset {
		b.fail("opset %d; expected %d to %d", opset, MinOpset, MaxOpset)
	}
	return b
}

// Name is the graph's name.
func (b *Builder) Name() string { return b.name }

// Opset is the version of ONNX's own operators.
func (b *Builder) Opset() int64 { return b.opset }

// Err is the first mistake, or nil.
func (b *Builder) Err() error { return b.err }

// Fail records a mistake that a caller found, unless there was one before.
func (b *Builder) Fail(format string, args ...any) Value {
	b.fail(format, args...)
	return Value{}
}

func (b *Builder) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("graph %s: %s%s", b.name, b.where(), fmt.Sprintf(format, args...))
	}
}

// where says in which scope and at which line of the author's code the builder is.
func (b *Builder) where() string {
	out := ""
	if len(b.scope) > 0 {
		out = strings.Join(b.scope, "/") + ": "
	}
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !b.helpers[f.Function] && !strings.Contains(f.Function, "mdmhost/framework/graph.") || strings.HasSuffix(f.File, "_test.go") {
			if f.File != "" {
				out += path.Base(f.File) + ":" + strconv.Itoa(f.Line) + ": "
			}
			return out
		}
		if !more {
			return out
		}
	}
}

// Scope prefixes the names of the nodes that follow, until the returned function is called: defer b.Scope("layer.0")().
func (b *Builder) Scope(name string) func() {
	b.scope = append(b.scope, name)
	n := len(b.scope) - 1
	return func() { b.scope = b.scope[:n] }
}

// fresh returns a new name in the present scope, such as "layer.0/MatMul_2".
func (b *Builder) fresh(kind string) string {
	if len(b.scope) > 0 {
		kind = strings.Join(b.scope, "/") + "/" + kind
	}
	for {
		n := b.counts[kind]
		b.counts[kind]++
		name := kind
		if n > 0 {
			name += "_" + strconv.Itoa(n)
		}
		if _, taken := b.values[name]; !taken {
			return name
		}
	}
}

// Input declares an input of the graph.
func (b *Builder) Input(name string, typ Type, shape ...Dim) Value {
	if b.err != nil {
		return Value{}
	}
	if _, taken := b.values[name]; taken || name == "" {
		return b.Fail("input %q: the name is empty or taken; expected a new one", name)
	}
	in := info{typ: typ, shape: slices.Clone(shape), ranked: true}
	for i, d := range in.shape {
		if d.vague() { // somebody else's unknown sizes
			in.shape[i] = unknown
		}
	}
	if err := b.nameUnknown(in.shape); err != nil {
		return b.Fail("input %q: %v", name, err)
	}
	v := b.put(name, in)
	b.inputs = append(b.inputs, v)
	return v
}

// Initializer adds a named tensor to the graph.
func (b *Builder) Initializer(t *Tensor) Value {
	if b.err != nil {
		return Value{}
	}
	if _, taken := b.values[t.Name]; taken || t.Name == "" {
		return b.Fail("initializer %q: the name is empty or taken; expected a new one", t.Name)
	}
	in, err := constantInfo(t)
	if err != nil {
		return b.Fail("initializer: %v", err)
	}
	b.inits = append(b.inits, t)
	return b.put(t.Name, in)
}

// maxInts is the size up to which int64 constants are read, as sizes and axes are: a flat vector is split into thousands of parts.
const maxInts = 4096

func constantInfo(t *Tensor) (info, error) {
	in := info{typ: t.Type, ranked: true, content: t, shape: make([]Dim, len(t.Dims))}
	if err := t.check(); err != nil {
		return in, err
	}
	for i, d := range t.Dims {
		in.shape[i] = Known(d)
	}
	if n, ok := t.elements(); ok && n <= maxInts && t.Type == Int64 && len(t.Dims) <= 1 && !t.IsExternal() {
		ints, err := t.Ints()
		if err != nil {
			return in, err
		}
		in.ints = make([]Dim, len(ints))
		for i, v := range ints {
			in.ints[i] = number64(v)
		}
	}
	return in, nil
}

func (b *Builder) put(name string, in info) Value {
	kept := &in
	b.values[name] = kept
	return Value{name, kept}
}

// Value finds a value by name.
func (b *Builder) Value(name string) (Value, bool) {
	in, ok := b.values[name]
	return Value{name, in}, ok
}

// Inputs are the declared inputs, in order.
func (b *Builder) Inputs() []Value { return b.inputs }

// Initializers are the named tensors, in order.
func (b *Builder) Initializers() []*Tensor { return b.inits }

// Nodes are the operators written so far, in an order in which they can run. The slice must not be changed.
func (b *Builder) Nodes() []*Node { return b.nodes }

// Producer is the node that writes v, or nil for inputs and initializers.
func (b *Builder) Producer(v Value) *Node { return b.producer[v.name] }

// In is the node's i-th input, the zero Value where it is left out.
func (b *Builder) In(n *Node, i int) Value {
	if i >= len(n.Inputs) || n.Inputs[i] == "" {
		return Value{}
	}
	return Value{n.Inputs[i], b.values[n.Inputs[i]]}
}

// Out is the node's i-th output, the zero Value where it is left out.
func (b *Builder) Out(n *Node, i int) Value {
	if i >= len(n.Outputs) || n.Outputs[i] == "" {
		return Value{}
	}
	return Value{n.Outputs[i], b.values[n.Outputs[i]]}
}

// maxShared is the size in bytes up to which equal constants are written once.
const maxShared = 4096

// Constant is a tensor in the graph. Small equal ones are written once.
func (b *Builder) Constant(t *Tensor) Value {
	if b.err != nil {
		return Value{}
	}
	key := ""
	if len(t.Raw) > 0 && len(t.Raw) <= maxShared {
		key = fmt.Sprint(t.Type, t.Dims) + string(t.Raw)
		if v, ok := b.constants[key]; ok {
			return v
		}
	}
	scope := b.scope
	b.scope = nil // shared by all scopes
	named := *t
	named.Name = b.fresh("constant")
	b.scope = scope
	var v Value
	if b.function {
		v = b.Op("Constant", []*Attribute{TensorValue("value", &named)})
	} else {
		v = b.Initializer(&named)
	}
	if key != "" {
		b.constants[key] = v
	}
	return v
}

// Float is a float32 scalar.
func (b *Builder) Float(v float64) Value { return b.Floats(nil, []float32{float32(v)}) }

// Floats is a float32 constant of the given shape.
func (b *Builder) Floats(dims []int64, v []float32) Value { return b.Constant(OfFloats("", dims, v)) }

// Double is a float64 scalar.
func (b *Builder) Double(v float64) Value {
	return b.Constant(&Tensor{Type: Float64, Raw: binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))})
}

// Int is an int64 scalar.
func (b *Builder) Int(v int64) Value { return b.Constant(OfInts("", nil, []int64{v})) }

// Ints is an int64 vector, as operators take axes, sizes and pads.
func (b *Builder) Ints(v ...int64) Value {
	return b.Constant(OfInts("", []int64{int64(len(v))}, v))
}
