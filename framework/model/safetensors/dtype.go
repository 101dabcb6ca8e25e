package safetensors

import "slices"

// DType is the type of a tensor's elements, under the name that it has in the file.
type DType string

// The element types of whole bytes.
const (
	Bool   DType = "BOOL"
	U8     DType = "U8"
	I8     DType = "I8"
	F8E5M2 DType = "F8_E5M2"
	F8E4M3 DType = "F8_E4M3"
	F8E8M0 DType = "F8_E8M0"
	I16    DType = "I16"
	U16    DType = "U16"
	F16    DType = "F16"
	BF16   DType = "BF16"
	I32    DType = "I32"
	U32    DType = "U32"
	F32    DType = "F32"
	C64    DType = "C64"
	F64    DType = "F64"
	I64    DType = "I64"
	U64    DType = "U64"
)

// dtypes are in the order of the reference implementation, by which it sorts tensors.
var dtypes = []DType{Bool, U8, I8, F8E5M2, F8E4M3, F8E8M0, I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64}

// Size returns the bytes of one element, or 0 for a type that is not known.
func (d DType) Size() int64 {
	switch i := slices.Index(dtypes, d); {
	case i < 0:
		return 0
	case i < slices.Index(dtypes, I16):
		return 1
	case i < slices.Index(dtypes, I32):
		return 2
	case i < slices.Index(dtypes, C64):
		return 4
	}
	return 8
}
