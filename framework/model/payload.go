package model

import (
	"fmt"
	"math/bits"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// elementBits is the size of one element in raw data.
var elementBits = map[graph.Type]uint64{graph.Float32: 32, graph.Uint8: 8, graph.Int8: 8, 4: 16, 5: 16, graph.Int32: 32, graph.Int64: 64,
	graph.Bool: 8, graph.Float16: 16, graph.Float64: 64, 12: 32, 13: 64, 14: 64, 15: 128, graph.BFloat16: 16, 17: 8, 18: 8, 19: 8, 20: 8,
	21: 4, 22: 4, 23: 4}

// maxElements bounds one tensor: 2^40 elements.
const maxElements = 1 << 40

// checkPayload refuses a tensor whose sizes and data disagree, before a runtime allocates what it promises. size tells the
// length of an external file below the model's folder.
func checkPayload(t *graph.Tensor, size func(location string) (int64, error)) error {
	count := uint64(1)
	for _, d := range t.Dims {
		hi, lo := bits.Mul64(count, uint64(max(d, 0)))
		if d < 0 || hi != 0 || lo > maxElements {
			return fmt.Errorf("tensor %q has the sizes %v, which are absurd; the file is damaged", t.Name, t.Dims)
		}
		count = lo
	}
	width, known := elementBits[t.Type]
	if !known {
		return nil // strings, and types that only the runtime knows
	}
	need := (count*width + 7) / 8
	switch {
	case t.IsExternal():
		return checkExternal(t, need, size)
	case t.Raw != nil:
		if uint64(len(t.Raw)) != need {
			return fmt.Errorf("tensor %q: %d bytes for %s %v, expected %d; the file is damaged", t.Name, len(t.Raw), t.Type, t.Dims, need)
		}
	case t.Floats != nil && t.Type == graph.Float32, t.Doubles != nil && t.Type == graph.Float64:
		if n := uint64(len(t.Floats) + len(t.Doubles)); n != need {
			return fmt.Errorf("tensor %q: %d bytes for %s %v, expected %d; the file is damaged", t.Name, n, t.Type, t.Dims, need)
		}
	case uint64(len(t.Int32s)+len(t.Int64s)+len(t.Uint64s)+len(t.Floats)+len(t.Doubles)) < min(count, 1):
		return fmt.Errorf("tensor %q has no data for %s %v; the file is damaged", t.Name, t.Type, t.Dims)
	case uint64(len(t.Int32s)+len(t.Int64s)+len(t.Uint64s)+len(t.Floats)) < count/2: // int4 packs two in one varint
		return fmt.Errorf("tensor %q: too little data for %s %v; the file is damaged", t.Name, t.Type, t.Dims)
	}
	return nil
}

// checkExternal checks that an external file holds what the tensor says.
func checkExternal(t *graph.Tensor, need uint64, size func(string) (int64, error)) error {
	have, err := size(t.Location())
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	offset, length := uint64(0), need
	for _, e := range t.External {
		to := &offset
		switch e.Key {
		case "offset":
		case "length":
			to = &length
		default:
			continue
		}
		if *to, err = strconv.ParseUint(e.Value, 10, 63); err != nil {
			return fmt.Errorf("tensor %q: external %s %q is no number of bytes; the file is damaged", t.Name, e.Key, e.Value)
		}
	}
	if length != need || offset+length > uint64(have) {
		return fmt.Errorf("tensor %q: bytes %d to %d of %q (%d bytes long) for %s %v of %d bytes; the files do not belong together or are cut off: export or copy the model again",
			t.Name, offset, offset+length, t.Location(), have, t.Type, t.Dims, need)
	}
	return nil
}
