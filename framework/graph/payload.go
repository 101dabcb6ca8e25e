package graph

import (
	"fmt"
	"math/bits"
)

// elementBits is the size of one element in raw data, by Type; 0 where a type has none.
var elementBits = [...]int64{Float32: 32, Uint8: 8, Int8: 8, 4: 16, 5: 16, Int32: 32, Int64: 64, Bool: 8, Float16: 16, Float64: 64,
	12: 32, 13: 64, 14: 64, 15: 128, BFloat16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4}

// elements is the product of the dimensions; false where one is negative or the product leaves int64.
func (t *Tensor) elements() (int64, bool) {
	n := uint64(1)
	for _, d := range t.Dims {
		hi, lo := bits.Mul64(n, uint64(d))
		if d < 0 || hi != 0 || lo >= 1<<63 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// bytes is the size of the payload as raw data; false for strings and types that have no size.
func (t *Tensor) bytes() (int64, bool) {
	n, ok := t.elements()
	if !ok || t.Type <= Undefined || int(t.Type) >= len(elementBits) || elementBits[t.Type] == 0 {
		return 0, false
	}
	b := elementBits[t.Type]
	if b < 8 {
		return n/2 + n%2, true
	}
	hi, lo := bits.Mul64(uint64(n), uint64(b/8))
	return int64(lo), hi == 0 && lo < 1<<63
}

// varints counts the varints of a packed field.
func varints(b []byte) int64 {
	n := int64(0)
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// check holds the payload against type and dimensions.
func (t *Tensor) check() error {
	n, ok := t.elements()
	if !ok {
		return fmt.Errorf("tensor %q: dimensions %v; expected sizes whose product fits 63 bits, export the model anew", t.Name, t.Dims)
	}
	size, sized := t.bytes()
	if !sized && t.Type != Text {
		return fmt.Errorf("tensor %q: element type %s; expected a type of ONNX, export the model anew", t.Name, t.Type)
	}
	if t.IsExternal() {
		return nil
	}
	held, want, unit := int64(len(t.Raw)), size, "bytes"
	if t.Raw == nil {
		want, unit = n, "elements"
		switch t.Type {
		case Float32:
			held = int64(len(t.Floats)) / 4
		case 14: // complex64
			held = int64(len(t.Floats)) / 8
		case Float64:
			held = int64(len(t.Doubles)) / 8
		case 15: // complex128
			held = int64(len(t.Doubles)) / 16
		case Int64:
			held = varints(t.Int64s)
		case 12, 13: // uint32, uint64
			held = varints(t.Uint64s)
		case Text:
			held = int64(len(t.Strings))
		case 21, 22, 23: // two elements in each
			held, want = varints(t.Int32s), n/2+n%2
		default:
			held = varints(t.Int32s)
		}
	}
	if held != want {
		return fmt.Errorf("tensor %q: %d %s of data; expected %d for %s%v, export the model anew", t.Name, held, unit, want, t.Type, t.Dims)
	}
	return nil
}
