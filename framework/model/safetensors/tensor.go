package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"
)

// Tensor is a named array. Data holds the elements in row-major order, little-endian; of an opened file it is a part of
// the mapped file, to be read only and not after [File.Close].
type Tensor struct {
	Name  string
	DType DType
	Shape []int64
	Data  []byte
}

// Element is a Go type that has a DType of its own.
type Element interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case uint8:
		return U8
	case int8:
		return I8
	case uint16:
		return U16
	case int16:
		return I16
	case uint32:
		return U32
	case int32:
		return I32
	case uint64:
		return U64
	case int64:
		return I64
	case float32:
		return F32
	}
	return F64
}

// littleEndian tells whether Go's slices have the byte order of the file, so that they can be shared with it.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Of makes a tensor of values. It shares their memory: what is written to values changes the tensor.
func Of[T Element](name string, shape []int64, values []T) Tensor {
	t := Tensor{Name: name, DType: dtypeOf[T](), Shape: shape}
	switch {
	case len(values) == 0:
	case littleEndian:
		t.Data = unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
	default:
		t.Data, _ = binary.Append(nil, binary.LittleEndian, values) // fails for no Element
	}
	return t
}

// View returns the elements of a tensor whose type is that of T. They share the tensor's memory where it is aligned, as
// it is in files that this package wrote; else they are a copy.
func View[T Element](t Tensor) ([]T, error) {
	if want := dtypeOf[T](); t.DType != want {
		return nil, fmt.Errorf("tensor %q: has elements %s, expected %s", t.Name, t.DType, want)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor %q: %d bytes are no whole number of %s", t.Name, len(t.Data), t.DType)
	}
	n := len(t.Data) / size
	if n == 0 {
		return []T{}, nil
	}
	start := unsafe.Pointer(&t.Data[0])
	if littleEndian && uintptr(start)%unsafe.Alignof(zero) == 0 {
		return unsafe.Slice((*T)(start), n), nil
	}
	out := make([]T, n)
	_, err := binary.Decode(t.Data, binary.LittleEndian, out)
	return out, err
}

// Len returns the number of elements that the shape asks for: 1 for a scalar.
func (t Tensor) Len() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// check compares type, shape and bytes.
func (t Tensor) check() error {
	size := t.DType.Size()
	if size == 0 {
		return fmt.Errorf("tensor %q: has elements %q, which this program does not know; convert the tensor, F32 for example", t.Name, t.DType)
	}
	bytes := size
	for _, d := range t.Shape {
		if d < 0 {
			return fmt.Errorf("tensor %q: has shape %v, expected no negative dimension", t.Name, t.Shape)
		}
		if d > 0 && bytes > math.MaxInt64/d {
			return fmt.Errorf("tensor %q: shape %v has more elements than any file can hold", t.Name, t.Shape)
		}
		bytes *= d
	}
	if bytes != int64(len(t.Data)) {
		return fmt.Errorf("tensor %q: has %d bytes, expected %d for %s of shape %v", t.Name, len(t.Data), bytes, t.DType, t.Shape)
	}
	return nil
}

// Sort brings tensors into the order of the reference implementation: wide elements first, so that every tensor is aligned
// to its elements, then by type and name.
func Sort(tensors []Tensor) {
	slices.SortFunc(tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(slices.Index(dtypes, b.DType), slices.Index(dtypes, a.DType)), strings.Compare(a.Name, b.Name))
	})
}
