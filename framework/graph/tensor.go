package graph

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is the element type of a tensor; the numbers are ONNX's.
type Type int32

// The element types that the framework names.
const (
	Undefined Type = 0
	Float32   Type = 1
	Uint8     Type = 2
	Int8      Type = 3
	Int32     Type = 6
	Int64     Type = 7
	Text      Type = 8
	Bool      Type = 9
	Float16   Type = 10
	Float64   Type = 11
	BFloat16  Type = 16
)

var typeNames = [...]string{"undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16",
	"float64", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
	"float8e5m2fnuz", "uint4", "int4", "float4e2m1"}

// String returns the usual name, such as "float32".
func (t Type) String() string {
	if t >= 0 && int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Tensor is TensorProto. Payloads are slices of the decoded file: they must not be written to.
type Tensor struct {
	Name     string
	Type     Type
	Dims     []int64
	Raw      []byte // little-endian elements, or nil where one of the packed fields or external data holds them
	Floats   []byte // packed float_data
	Doubles  []byte // packed double_data
	Int32s   []byte // packed int32_data (varints): also bool, 8 and 16 bit types
	Int64s   []byte // packed int64_data (varints)
	Uint64s  []byte // packed uint64_data (varints)
	Strings  [][]byte
	External []Entry // keys location, offset, length, checksum
	external bool
	Unknown  []byte
}

// IsExternal tells whether the payload is in another file.
func (t *Tensor) IsExternal() bool { return t.external || len(t.External) > 0 }

// Location returns the file that holds an external payload, relative to the model's directory, or "".
func (t *Tensor) Location() string {
	for _, e := range t.External {
		if e.Key == "location" {
			return e.Value
		}
	}
	return ""
}

// OfFloats is a float32 tensor.
func OfFloats(name string, dims []int64, v []float32) *Tensor {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return &Tensor{Name: name, Type: Float32, Dims: dims, Raw: raw}
}

// OfInts is an int64 tensor.
func OfInts(name string, dims []int64, v []int64) *Tensor {
	raw := make([]byte, 0, 8*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	return &Tensor{Name: name, Type: Int64, Dims: dims, Raw: raw}
}

// Ints returns the elements of an int64 tensor of the file.
func (t *Tensor) Ints() ([]int64, error) {
	switch {
	case t.Type != Int64:
		return nil, fmt.Errorf("tensor %q: has elements %s, expected int64", t.Name, t.Type)
	case t.IsExternal():
		return nil, fmt.Errorf("tensor %q: its data is in %q, expected it in the model file", t.Name, t.Location())
	case len(t.Raw)%8 != 0:
		return nil, fmt.Errorf("tensor %q: %d bytes are no whole number of int64", t.Name, len(t.Raw))
	case len(t.Raw) > 0:
		out := make([]int64, 0, len(t.Raw)/8)
		for b := t.Raw; len(b) > 0; b = b[8:] {
			out = append(out, int64(binary.LittleEndian.Uint64(b)))
		}
		return out, nil
	}
	out := []int64{}
	for b := t.Int64s; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, fmt.Errorf("tensor %q: damaged int64 data", t.Name)
		}
		out, b = append(out, int64(v)), b[n:]
	}
	return out, nil
}

// float is element i of a float32 tensor whose elements are in Raw.
func (t *Tensor) float(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:]))
}

// withRaw is the tensor with its elements in Raw, where they stand in a field of their own type.
func (t *Tensor) withRaw() *Tensor {
	if t.Raw != nil || t.IsExternal() {
		return t
	}
	switch {
	case t.Type == Int64 && t.Int64s != nil:
		if v, err := t.Ints(); err == nil {
			return OfInts(t.Name, t.Dims, v)
		}
	case t.Type == Float32 && t.Floats != nil: // packed float_data is little-endian already
		return &Tensor{Name: t.Name, Type: t.Type, Dims: t.Dims, Raw: t.Floats}
	}
	return t
}
