package data

import (
	"encoding/binary"
	"fmt"
)

// shape says how records lie in bytes, in memory and in shards alike, little-endian. A packed record is one id. A padded
// record is the row's length (uint32), its ids [L], and with fixed one bit for each position, lowest first.
type shape struct {
	layout string
	length int  // L
	width  int  // bytes of an id, 2 or 4
	fixed  bool // padded rows say which positions are given
	size   int  // ids are below it
	pad    int32
}

func newShape(s *Spec, e *encoder) shape {
	width := 2
	if e.Size() > 1<<16 {
		width = 4
	}
	return shape{layout: s.Layout, length: s.Length, width: width, fixed: e.fixes(), size: e.Size(), pad: e.Pad}
}

// bytes is the size of a record.
func (s shape) bytes() int64 {
	if s.layout == Packed {
		return int64(s.width)
	}
	n := 4 + int64(s.length)*int64(s.width)
	if s.fixed {
		n += int64(s.length+7) / 8
	}
	return n
}

// appendIDs writes ids.
func (s shape) appendIDs(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		dst = s.appendID(dst, id)
	}
	return dst
}

func (s shape) appendID(dst []byte, id int32) []byte {
	if s.width == 2 {
		return binary.LittleEndian.AppendUint16(dst, uint16(id))
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(id))
}

// appendRow writes a padded row of at most L ids; fixed may be nil.
func (s shape) appendRow(dst []byte, ids []int32, fixed []bool) []byte {
	dst = s.appendIDs(binary.LittleEndian.AppendUint32(dst, uint32(len(ids))), ids)
	for range s.length - len(ids) {
		dst = s.appendID(dst, s.pad)
	}
	if !s.fixed {
		return dst
	}
	bits := make([]byte, (s.length+7)/8)
	for i, f := range fixed {
		if f {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return append(dst, bits...)
}

// ids reads len(to) ids from the start of b.
func (s shape) ids(b []byte, to []int64) error {
	worst := int64(0)
	if s.width == 2 {
		b = b[:2*len(to)]
		for i := range to {
			to[i] = int64(binary.LittleEndian.Uint16(b[2*i:]))
			worst = max(worst, to[i])
		}
	} else {
		b = b[:4*len(to)]
		for i := range to {
			to[i] = int64(binary.LittleEndian.Uint32(b[4*i:]))
			worst = max(worst, to[i])
		}
	}
	if worst >= int64(s.size) {
		return fmt.Errorf("has id %d, expected ids below %d: the data is damaged; prepare it again", worst, s.size)
	}
	return nil
}

// row reads a padded record.
func (s shape) row(b []byte, r *Row) error {
	n := binary.LittleEndian.Uint32(b)
	if n > uint32(s.length) {
		return fmt.Errorf("has %d tokens, expected at most %d: the data is damaged; prepare it again", n, s.length)
	}
	r.Length = int(n)
	b = b[4:]
	if r.Fixed != nil {
		bits := b[s.length*s.width:]
		for i := range r.Fixed[:s.length] {
			r.Fixed[i] = s.fixed && i < r.Length && bits[i/8]>>(i%8)&1 == 1
		}
	}
	return s.ids(b, r.Tokens[:s.length])
}
