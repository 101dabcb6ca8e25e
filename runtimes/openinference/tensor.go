package openinference

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// tensor is an input or an output with its numbers, row-major and little-endian.
type tensor struct {
	name, datatype string
	shape          []int64
	raw            []byte
}

// widths are the bytes of a number of each datatype that tensors here may have.
var widths = map[string]int{"INT64": 8, "INT32": 4, "FP32": 4}

// count is how many numbers the shape holds, or an error where that is absurd.
func (t *tensor) count() (int, error) {
	n := int64(1)
	for _, size := range t.shape {
		if size < 0 || size > math.MaxInt32 || n*size > math.MaxInt32 {
			return 0, fmt.Errorf("shape %v is absurd", t.shape)
		}
		n *= size
	}
	return int(n), nil
}

// check holds a tensor against what was asked for.
func (t *tensor) check(datatype string, shape []int64) error {
	switch {
	case t.datatype != datatype:
		return fmt.Errorf("output %s is of %s, expected %s as in the model's metadata", t.name, orNone(t.datatype), datatype)
	case !slices.Equal(t.shape, shape):
		return fmt.Errorf("output %s has shape %v, expected %v", t.name, t.shape, shape)
	}
	n, err := t.count()
	if err != nil {
		return fmt.Errorf("output %s: %w", t.name, err)
	}
	if len(t.raw) != n*widths[datatype] {
		return fmt.Errorf("output %s holds %d bytes, expected %d for %s %v", t.name, len(t.raw), n*widths[datatype], datatype, shape)
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "no datatype"
	}
	return s
}

// integer is number i, of INT64 or INT32.
func (t *tensor) integer(i int) int64 {
	if t.datatype == "INT32" {
		return int64(int32(binary.LittleEndian.Uint32(t.raw[4*i:])))
	}
	return int64(binary.LittleEndian.Uint64(t.raw[8*i:]))
}

// floats writes numbers from i on, of FP32, to out.
func (t *tensor) floats(i int, out []float32) {
	raw := t.raw[4*i:]
	for j := range out {
		out[j] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:]))
	}
}

// addInteger appends a number to an input of INT64 or INT32.
func (t *tensor) addInteger(v int64) {
	if t.datatype == "INT32" {
		t.raw = binary.LittleEndian.AppendUint32(t.raw, uint32(int32(v)))
		return
	}
	t.raw = binary.LittleEndian.AppendUint64(t.raw, uint64(v))
}

// addFloat appends a number to an input of FP32.
func (t *tensor) addFloat(v float32) {
	t.raw = binary.LittleEndian.AppendUint32(t.raw, math.Float32bits(v))
}
