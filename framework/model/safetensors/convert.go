package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Float32s returns the elements of a floating-point tensor (F16, BF16, F32, F64) as float32, F64 rounded to nearest. F32
// elements are those of [View]: not to be written to.
func (t Tensor) Float32s() ([]float32, error) {
	var decode func([]byte) float32
	little := binary.LittleEndian
	switch t.DType {
	case F32:
		return View[float32](t)
	case F16:
		decode = func(b []byte) float32 { return FromFloat16(little.Uint16(b)) }
	case BF16:
		decode = func(b []byte) float32 { return FromBFloat16(little.Uint16(b)) }
	case F64:
		decode = func(b []byte) float32 { return float32(math.Float64frombits(little.Uint64(b))) }
	default:
		return nil, fmt.Errorf("tensor %q: has elements %s, expected F16, BF16, F32 or F64", t.Name, t.DType)
	}
	size := int(t.DType.Size())
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor %q: %d bytes are no whole number of %s", t.Name, len(t.Data), t.DType)
	}
	out := make([]float32, len(t.Data)/size)
	for i := range out {
		out[i] = decode(t.Data[i*size:])
	}
	return out, nil
}

// To returns the tensor with other floating-point elements (F16, BF16, F32 or F64), each rounded to nearest, ties to even.
// It fails where a finite element would become an infinity. A tensor of that type already is returned as it is.
func (t Tensor) To(d DType) (Tensor, error) {
	if t.DType == d {
		return t, nil
	}
	if t.DType == F64 && (d == F16 || d == BF16) {
		return Tensor{}, fmt.Errorf("tensor %q: F64 would be rounded twice on its way to %s; convert it to F32 first if that is meant", t.Name, d)
	}
	values, err := t.Float32s()
	if err != nil {
		return Tensor{}, err
	}
	little := binary.LittleEndian
	var encode func([]byte, float32) []byte
	limit := math.Inf(1)
	switch d {
	case F16:
		limit = 65520 // half-way from the largest number to the one that would follow
		encode = func(b []byte, x float32) []byte { return little.AppendUint16(b, Float16(x)) }
	case BF16:
		limit = 0x1.ffp127
		encode = func(b []byte, x float32) []byte { return little.AppendUint16(b, BFloat16(x)) }
	case F32:
		for i := range values {
			if t.DType != F64 || !math.IsInf(float64(values[i]), 0) {
				continue
			}
			if x := math.Float64frombits(little.Uint64(t.Data[8*i:])); !math.IsInf(x, 0) {
				return Tensor{}, overflow(t.Name, i, x, d)
			}
		}
		return Of(t.Name, t.Shape, values), nil
	case F64:
		encode = func(b []byte, x float32) []byte { return little.AppendUint64(b, math.Float64bits(float64(x))) }
	default:
		return Tensor{}, fmt.Errorf("tensor %q: cannot become %s, expected F16, BF16, F32 or F64", t.Name, d)
	}
	out := Tensor{Name: t.Name, DType: d, Shape: t.Shape, Data: make([]byte, 0, int64(len(values))*d.Size())}
	for i, x := range values {
		if size := math.Abs(float64(x)); size >= limit && !math.IsInf(size, 0) {
			return Tensor{}, overflow(t.Name, i, float64(x), d)
		}
		out.Data = encode(out.Data, x)
	}
	return out, nil
}

func overflow(name string, i int, x float64, d DType) error {
	return fmt.Errorf("tensor %q: element %d is %g, too large for %s; keep the tensor in a wider type", name, i, x, d)
}
