package safetensors

import (
	"encoding/binary"
	"math"
)

// Float16 returns the bits of the IEEE 754 half-precision number nearest to x, ties to even. What is too large becomes
// an infinity; a NaN keeps its sign and leading bits and becomes quiet.
func Float16(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(bits>>13&0x3ff)
	case bits >= 0x47800000: // from 65536 on, infinity too
		return sign | 0x7c00
	case bits < 0x33000000: // below half of the smallest subnormal
		return sign
	case bits < 0x38800000: // subnormal: the fraction counts in units of 2^-24
		shift := 126 - bits>>23
		return sign | uint16(nearest(bits&0x7fffff|0x800000, shift))
	}
	// Rounding up carries into the exponent as it should, from 65504 to infinity too.
	return sign | uint16(nearest(bits, 13)-(127-15)<<10)
}

// FromFloat16 returns the number that the bits of a half-precision number mean; it is exact.
func FromFloat16(h uint16) float32 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// BFloat16 returns the bits of the bfloat16 nearest to x, ties to even, with infinities and NaN as in [Float16].
func BFloat16(x float32) uint16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 {
		return uint16(bits>>16) | 0x40
	}
	return uint16(nearest(bits, 16))
}

// FromBFloat16 returns the number that the bits of a bfloat16 mean; it is exact.
func FromBFloat16(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

// nearest is x / 2^shift rounded to the nearest integer, ties to even; 0 < shift < 32.
func nearest(x, shift uint32) uint32 {
	half := uint64(1)<<(shift-1) - 1
	return uint32((uint64(x) + half + uint64(x>>shift&1)) >> shift)
}

// NotFinite is the index of the first element among those of a floating-point type (F16, BF16 or F32) that is infinite or not a number, or -1.
func NotFinite(d DType, elements []byte) int {
	little := binary.LittleEndian
	switch d {
	case F32:
		for i := 0; i+4 <= len(elements); i += 4 {
			if little.Uint32(elements[i:])&0x7f800000 == 0x7f800000 {
				return i / 4
			}
		}
	case F16, BF16:
		exponent := uint16(0x7c00)
		if d == BF16 {
			exponent = 0x7f80
		}
		for i := 0; i+2 <= len(elements); i += 2 {
			if little.Uint16(elements[i:])&exponent == exponent {
				return i / 2
			}
		}
	}
	return -1
}
