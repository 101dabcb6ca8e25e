package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// alignment of tensors in the file, the format's default.
const alignment = 32

// Types of metadata in GGUF.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// entry is a key of the metadata with a value of type uint32, float32, bool, string, []int32 or []string.
type entry struct {
	key   string
	value any
}

// file is a GGUF file, version 3, little-endian.
type file struct {
	entries []entry
	tensors []tensor
}

// write writes the file, one tensor at a time.
func (f *file) write(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	out := &counting{w: b}
	out.bytes([]byte("GGUF"))
	out.number(uint32(3))
	out.number(uint64(len(f.tensors)))
	out.number(uint64(len(f.entries)))
	for _, e := range f.entries {
		out.entry(e)
	}
	offset := uint64(0)
	for _, t := range f.tensors {
		out.text(t.name)
		out.number(uint32(len(t.shape)))
		for i := range t.shape { // the innermost first
			out.number(uint64(t.shape[len(t.shape)-1-i]))
		}
		out.number(t.kind())
		out.number(offset)
		offset += (uint64(t.size()) + alignment - 1) / alignment * alignment
	}
	for _, t := range f.tensors {
		out.pad()
		values, err := t.elements()
		if err != nil {
			return err
		}
		out.bytes(values.Data)
	}
	out.pad()
	if out.err != nil {
		return out.err
	}
	return b.Flush()
}

// counting writes and remembers where it is and what went wrong first.
type counting struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counting) bytes(b []byte) {
	if c.err == nil {
		var n int
		n, c.err = c.w.Write(b)
		c.n += int64(n)
	}
}

// number writes an integer, a float32 or a bool.
func (c *counting) number(x any) {
	b, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil && c.err == nil {
		c.err = err
	}
	c.bytes(b)
}

func (c *counting) text(s string) {
	c.number(uint64(len(s)))
	c.bytes([]byte(s))
}

func (c *counting) pad() { c.bytes(make([]byte, (alignment-c.n%alignment)%alignment)) }

func (c *counting) entry(e entry) {
	c.text(e.key)
	switch v := e.value.(type) {
	case uint32:
		c.number(uint32(typeUint32))
		c.number(v)
	case float32:
		c.number(uint32(typeFloat32))
		c.number(math.Float32bits(v))
	case bool:
		c.number(uint32(typeBool))
		c.number(v)
	case string:
		c.number(uint32(typeString))
		c.text(v)
	case []int32:
		c.array(typeInt32, len(v))
		c.number(v)
	case []string:
		c.array(typeString, len(v))
		for _, s := range v {
			c.text(s)
		}
	default:
		if c.err == nil {
			c.err = fmt.Errorf("metadata %s: a value of type %T has no place in this writer", e.key, v)
		}
	}
}

func (c *counting) array(of uint32, n int) {
	c.number(uint32(typeArray))
	c.number(of)
	c.number(uint64(n))
}
