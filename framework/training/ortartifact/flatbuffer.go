package ortartifact

import (
	"encoding/binary"
	"fmt"
)

// table is a table of a FlatBuffers file. Every offset is checked; the first one that leads out of the file is kept, and everything
// after it reads as absent.
type table struct {
	file *flat
	at   int // of the table; 0: absent
}

// flat is the file. Reading is bounded: a hostile file whose tables share children costs no more than its steps.
type flat struct {
	b       []byte
	steps   int
	problem error
}

const maxSteps = 1 << 22

func (f *flat) fail(format string, args ...any) {
	if f.problem == nil {
		f.problem = fmt.Errorf(format, args...)
	}
}

// u32 reads at a place that must be inside.
func (f *flat) u32(at int) int {
	if f.steps++; f.steps > maxSteps {
		f.fail("it has more than %d parts", maxSteps)
	}
	if f.problem != nil || at < 0 || at > len(f.b)-4 {
		f.fail("an offset leads to byte %d of %d", at, len(f.b))
		return 0
	}
	return int(binary.LittleEndian.Uint32(f.b[at:]))
}

// follow is the place that the offset at a place leads to.
func (f *flat) follow(at int) int {
	to := at + f.u32(at)
	if f.problem != nil || to == at || to > len(f.b)-4 {
		f.fail("an offset at byte %d leads to byte %d of %d", at, to, len(f.b))
		return 0
	}
	return to
}

// field is the place of field i, 0 where it is absent. size is what must be inside the file there.
func (t table) field(i, size int) int {
	f := t.file
	if t.at == 0 || f.problem != nil {
		return 0
	}
	virtual := t.at - int(int32(f.u32(t.at)))
	if virtual < 0 || virtual > len(f.b)-4 {
		f.fail("a table at byte %d has its fields at byte %d of %d", t.at, virtual, len(f.b))
		return 0
	}
	length := int(binary.LittleEndian.Uint16(f.b[virtual:]))
	entry := 4 + 2*i
	if entry+2 > length || virtual+entry+2 > len(f.b) {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(f.b[virtual+entry:]))
	if offset == 0 {
		return 0
	}
	if at := t.at + offset; at <= len(f.b)-size {
		return at
	}
	f.fail("a field at byte %d ends behind the file of %d bytes", t.at+offset, len(f.b))
	return 0
}

func (t table) table(i int) table {
	if at := t.field(i, 4); at != 0 {
		return table{t.file, t.file.follow(at)}
	}
	return table{file: t.file}
}

func (t table) int32(i int, otherwise int32) int32 {
	if at := t.field(i, 4); at != 0 {
		return int32(binary.LittleEndian.Uint32(t.file.b[at:]))
	}
	return otherwise
}

func (t table) int64(i int, otherwise int64) int64 {
	if at := t.field(i, 8); at != 0 {
		return int64(binary.LittleEndian.Uint64(t.file.b[at:]))
	}
	return otherwise
}

func (t table) bool(i int) bool {
	at := t.field(i, 1)
	return at != 0 && t.file.b[at] != 0
}

// vector is field i as elements of a size, nil where it is absent.
func (t table) vector(i, size int) []byte {
	at := t.field(i, 4)
	if at == 0 {
		return nil
	}
	at = t.file.follow(at)
	n := t.file.u32(at)
	if t.file.problem != nil || n > (len(t.file.b)-at-4)/size {
		t.file.fail("a list of %d elements at byte %d ends behind the file of %d bytes", n, at, len(t.file.b))
		return nil
	}
	return t.file.b[at+4 : at+4+n*size]
}

func (t table) text(i int) string { return string(t.vector(i, 1)) }

func (t table) int64s(i int) []int64 {
	b := t.vector(i, 8)
	out := make([]int64, len(b)/8)
	for j := range out {
		out[j] = int64(binary.LittleEndian.Uint64(b[8*j:]))
	}
	return out
}

// tables is a list of tables.
func (t table) tables(i int) []table {
	b := t.vector(i, 4)
	if len(b) == 0 {
		return nil
	}
	start := cap(t.file.b) - cap(b) // of the list in the file
	var out []table
	for j := 0; j < len(b) && t.file.problem == nil; j += 4 {
		out = append(out, table{t.file, t.file.follow(start + j)})
	}
	return out
}
