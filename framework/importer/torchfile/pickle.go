package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The values of a pickle, besides nil, bool, int64, float64, string and what torch's functions make.
type (
	global string // "module name"
	tuple  []any
	list   struct{ values []any }
	dict   struct{ keys, values []any } // in order; a key that was set twice stands there twice
	mark   struct{}
	opaque struct{} // a number that is too long to matter
)

func (d *dict) get(key string) any {
	for i, k := range d.keys {
		if k == key {
			return d.values[i]
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v.(type) {
	case *dict:
		return "dictionary"
	case *list, tuple:
		return "list"
	case global:
		return "class"
	case *tensor:
		return "tensor"
	}
	return fmt.Sprintf("%T", v)
}

// finder takes a storage that a pickle refers to.
type finder func(key string, s *storage) (*storage, error)

// maxSteps bounds what a pickle can make a reader hold: a step makes at most one value, and checkpoints take some dozen for a tensor.
const maxSteps = 1 << 20

// unpickle runs a pickle up to its end and returns its value and its length. Errors say what is not known, or where the file ends.
func unpickle(data []byte, find finder) (value any, n int, err error) {
	p := &pickle{data: data, find: find, memo: map[int]any{}}
	for steps := 0; value == nil && err == nil && !p.stopped; steps++ {
		value, err = p.step()
		if steps > maxSteps {
			err = errors.New("is a pickle of too many values")
		}
	}
	return value, p.at, err
}

type pickle struct {
	data    []byte
	at      int
	stack   []any
	memo    map[int]any
	find    finder
	stopped bool
}

var errCut = errors.New("is a pickle that is cut off")

// take reads n bytes.
func (p *pickle) take(n int) []byte {
	if n < 0 || n > len(p.data)-p.at {
		panic(errCut)
	}
	b := p.data[p.at : p.at+n]
	p.at += n
	return b
}

func (p *pickle) line() string {
	end := slices.Index(p.data[p.at:], '\n')
	if end < 0 || end > 1<<12 {
		panic(errCut)
	}
	s := string(p.data[p.at : p.at+end])
	p.at += end + 1
	return s
}

// size reads a length of some bytes.
func (p *pickle) size(bytes int) int {
	var b [8]byte
	copy(b[:], p.take(bytes))
	n := binary.LittleEndian.Uint64(b[:])
	if n > math.MaxInt32 {
		panic(errCut)
	}
	return int(n)
}

func (p *pickle) push(v any) { p.stack = append(p.stack, v) }

func (p *pickle) pop() any {
	if len(p.stack) == 0 {
		panic(errors.New("is a pickle that takes from an empty stack"))
	}
	v := p.stack[len(p.stack)-1]
	p.stack = p.stack[:len(p.stack)-1]
	return v
}

// marked takes everything above the last mark.
func (p *pickle) marked() []any {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if _, ok := p.stack[i].(mark); ok {
			out := slices.Clone(p.stack[i+1:])
			p.stack = p.stack[:i]
			return out
		}
	}
	panic(errors.New("is a pickle without a mark"))
}

// step runs one instruction. The value is that of the whole pickle once it is there. Instructions that end early panic with an error, which is returned.
func (p *pickle) step() (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(error)
			if !ok {
				failed = fmt.Errorf("is a pickle that cannot be read: %v", r)
			}
			err = failed
		}
	}()
	op := p.take(1)[0]
	if p.constant(op) {
		return nil, nil
	}
	switch op {
	case 0x80: // PROTO
		if v := p.take(1)[0]; v > 5 {
			return nil, fmt.Errorf("is a pickle of protocol %d, expected at most 5", v)
		}
	case 0x95: // FRAME
		p.take(8)
	case '.': // STOP
		p.stopped = true
		return p.pop(), nil
	case '(': // MARK
		p.push(mark{})
	case '0': // POP
		p.pop()
	case 't': // TUPLE
		p.push(tuple(p.marked()))
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		t := make(tuple, op-0x84)
		for i := range t {
			t[len(t)-1-i] = p.pop()
		}
		p.push(t)
	case 'l': // LIST
		p.push(&list{p.marked()})
	case 'a': // APPEND
		v := p.pop()
		return nil, p.extend(v)
	case 'e': // APPENDS
		return nil, p.extend(p.marked()...)
	case 's': // SETITEM
		v, k := p.pop(), p.pop()
		return nil, p.set(k, v)
	case 'u': // SETITEMS
		return nil, p.set(p.marked()...)
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
		return nil, p.remember(op)
	case 'c': // GLOBAL
		p.push(global(p.line() + " " + p.line()))
	case 0x93: // STACK_GLOBAL
		name, ok := p.pop().(string)
		module, both := p.pop().(string)
		if !ok || !both {
			return nil, errors.New("is a pickle with a class that has no name")
		}
		p.push(global(module + " " + name))
	case 'R': // REDUCE
		arguments, _ := p.pop().(tuple)
		f, _ := p.pop().(global)
		v, err := call(f, arguments)
		p.push(v)
		return nil, err
	case 'b': // BUILD: attributes of the object, such as _metadata of an ordered dictionary
		p.pop()
	case 'Q': // BINPERSID
		if p.find == nil {
			return nil, errors.New("refers to a storage where none is")
		}
		s, err := persistent(p.pop(), p.find)
		p.push(s)
		return nil, err
	default:
		return nil, fmt.Errorf("is a pickle with the instruction %#x at byte %d, which no state dictionary needs", op, p.at-1)
	}
	return nil, nil
}

// constant pushes a value that stands in the file.
func (p *pickle) constant(op byte) bool {
	switch op {
	case 'N':
		p.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		p.push(op == 0x88)
	case 'J': // BININT
		p.push(int64(int32(binary.LittleEndian.Uint32(p.take(4)))))
	case 'K', 'M': // BININT1, BININT2
		p.push(int64(p.size(map[byte]int{'K': 1, 'M': 2}[op])))
	case 0x8a: // LONG1
		b := p.take(p.size(1))
		var wide [8]byte
		if len(b) > 8 {
			p.push(opaque{})
			return true
		}
		if copy(wide[:], b); len(b) > 0 && b[len(b)-1]&0x80 != 0 {
			for i := len(b); i < 8; i++ {
				wide[i] = 0xff
			}
		}
		p.push(int64(binary.LittleEndian.Uint64(wide[:])))
	case 'G': // BINFLOAT
		p.push(math.Float64frombits(binary.BigEndian.Uint64(p.take(8))))
	case 'X', 'T', 'B': // BINUNICODE, BINSTRING, BINBYTES
		p.push(string(p.take(p.size(4))))
	case 0x8c, 'U', 'C': // SHORT_BINUNICODE, SHORT_BINSTRING, SHORT_BINBYTES
		p.push(string(p.take(p.size(1))))
	case ')':
		p.push(tuple{})
	case ']':
		p.push(&list{})
	case '}':
		p.push(&dict{})
	default:
		return false
	}
	return true
}

func (p *pickle) extend(values ...any) error {
	l, ok := p.top().(*list)
	if !ok {
		return errors.New("is a pickle that appends to what is no list")
	}
	l.values = append(l.values, values...)
	return nil
}

func (p *pickle) set(pairs ...any) error {
	d, ok := p.top().(*dict)
	if !ok || len(pairs)%2 != 0 {
		return errors.New("is a pickle that sets keys of what is no dictionary")
	}
	for i := 0; i < len(pairs); i += 2 {
		d.keys, d.values = append(d.keys, pairs[i]), append(d.values, pairs[i+1])
	}
	return nil
}

func (p *pickle) top() any {
	v := p.pop()
	p.push(v)
	return v
}

// remember puts the value on top into the memo, or one of the memo onto the top.
func (p *pickle) remember(op byte) error {
	n := len(p.memo)
	switch op {
	case 'q', 'h':
		n = p.size(1)
	case 'r', 'j':
		n = p.size(4)
	}
	if op != 'h' && op != 'j' {
		p.memo[n] = p.top()
		return nil
	}
	v, ok := p.memo[n]
	if !ok {
		return fmt.Errorf("is a pickle that remembers nothing under %d", n)
	}
	p.push(v)
	return nil
}

// call does what the functions do that state dictionaries are made with; no other is known.
func call(f global, arguments []any) (any, error) {
	switch f {
	case "torch._utils _rebuild_tensor_v2":
		return rebuild(arguments)
	case "torch._utils _rebuild_parameter":
		if len(arguments) > 0 {
			if t, ok := arguments[0].(*tensor); ok {
				return t, nil
			}
		}
		return nil, errors.New("rebuilds a parameter from what is no tensor")
	case "collections OrderedDict":
		if len(arguments) == 0 {
			return &dict{}, nil
		}
	}
	return nil, fmt.Errorf("calls %q, which no state dictionary needs, and which is not called here", strings.ReplaceAll(string(f), " ", "."))
}
