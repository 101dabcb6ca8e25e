package graph

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Limits of a file that Decode accepts, far above real models, so that a hostile file cannot exhaust memory or stack:
// messages nested in each other, and structs made.
const (
	maxDepth    = 64
	maxMessages = 1 << 22
)

// field is one field of a message. Slices point into the file.
type field struct {
	num protowire.Number
	typ protowire.Type
	u   uint64 // varint and fixed values
	b   []byte // length-delimited values
	raw []byte // tag and value
}

// decoder carries the limits through the nested messages.
type decoder struct{ depth, messages int }

var (
	errDepth = fmt.Errorf("messages are nested deeper than %d", maxDepth)
	errMany  = fmt.Errorf("more than %d messages", maxMessages)
	errType  = errors.New("a field has the wrong wire type")
)

// message visits the fields of one message. visit returns false for a field that it does not know, and its bytes are
// then added to unknown.
func (d *decoder) message(b []byte, unknown *[]byte, visit func(field) (bool, error)) error {
	if d.depth++; d.depth > maxDepth {
		return errDepth
	}
	if d.messages++; d.messages > maxMessages {
		return errMany
	}
	defer func() { d.depth-- }()
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		f := field{num: num, typ: typ}
		m := 0
		switch rest := b[n:]; typ {
		case protowire.VarintType:
			f.u, m = protowire.ConsumeVarint(rest)
		case protowire.Fixed32Type:
			var v uint32
			v, m = protowire.ConsumeFixed32(rest)
			f.u = uint64(v)
		case protowire.Fixed64Type:
			f.u, m = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.b, m = protowire.ConsumeBytes(rest)
			f.b = f.b[:len(f.b):len(f.b)] // an append must never write into the file
		default:
			m = protowire.ConsumeFieldValue(num, typ, rest)
		}
		if m < 0 {
			return fmt.Errorf("field %d: %w", num, protowire.ParseError(m))
		}
		f.raw = b[: n+m : n+m]
		known, err := visit(f)
		switch {
		case err != nil:
			return err
		case !known && unknown != nil:
			*unknown = append(*unknown, f.raw...)
		}
		b = b[n+m:]
	}
	return nil
}

// The setters below store one field and report a wrong wire type.

func (f field) text(to *string) (bool, error) {
	if f.typ == protowire.BytesType {
		*to = string(f.b)
		return true, nil
	}
	return false, errType
}

func (f field) texts(to *[]string) (bool, error) {
	if f.typ == protowire.BytesType {
		*to = append(*to, string(f.b))
		return true, nil
	}
	return false, errType
}

func (f field) bytes(to *[]byte) (bool, error) {
	if f.typ == protowire.BytesType {
		*to = f.b
		return true, nil
	}
	return false, errType
}

func (f field) int(to *int64) (bool, error) {
	if f.typ == protowire.VarintType {
		*to = int64(f.u)
		return true, nil
	}
	return false, errType
}

// ints takes one element or a packed list.
func (f field) ints(to *[]int64) (bool, error) {
	if f.typ == protowire.VarintType {
		*to = append(*to, int64(f.u))
		return true, nil
	}
	if f.typ != protowire.BytesType {
		return false, errType
	}
	for b := f.b; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return false, protowire.ParseError(n)
		}
		*to, b = append(*to, int64(v)), b[n:]
	}
	return true, nil
}

// floats takes one element or a packed list.
func (f field) floats(to *[]float32) (bool, error) {
	if f.typ == protowire.Fixed32Type {
		*to = append(*to, math.Float32frombits(uint32(f.u)))
		return true, nil
	}
	if f.typ != protowire.BytesType || len(f.b)%4 != 0 {
		return false, errType
	}
	for b := f.b; len(b) > 0; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		*to = append(*to, math.Float32frombits(v))
	}
	return true, nil
}

// packed keeps a repeated scalar field in its packed form; single elements (old writers) are packed here.
func (f field) packed(to *[]byte) (bool, error) {
	switch f.typ {
	case protowire.BytesType:
		if *to == nil {
			*to = f.b
		} else {
			*to = append(*to, f.b...) // *to has no spare capacity at first, so this copies once
		}
	case protowire.VarintType:
		*to = protowire.AppendVarint(*to, f.u)
	case protowire.Fixed32Type:
		*to = protowire.AppendFixed32(*to, uint32(f.u))
	case protowire.Fixed64Type:
		*to = protowire.AppendFixed64(*to, f.u)
	default:
		return false, errType
	}
	return true, nil
}

// sub decodes a nested message and names it in errors.
func (f field) sub(name string, decode func([]byte) error) (bool, error) {
	if f.typ != protowire.BytesType {
		return false, fmt.Errorf("%s: %w", name, errType)
	}
	if err := decode(f.b); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}
