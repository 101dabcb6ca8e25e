package gguf

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// reader reads GGUF by its specification, for the tests.
type reader struct {
	t interface{ Fatal(...any) }
	b *bytes.Reader
}

func number[T any](r *reader) (x T) {
	if err := binary.Read(r.b, binary.LittleEndian, &x); err != nil {
		r.t.Fatal(err)
	}
	return x
}

func (r *reader) text() string {
	b := make([]byte, number[uint64](r))
	if _, err := io.ReadFull(r.b, b); err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *reader) value(kind uint32) any {
	switch kind {
	case typeUint32:
		return number[uint32](r)
	case typeInt32:
		return number[int32](r)
	case typeFloat32:
		return number[float32](r)
	case typeBool:
		return number[bool](r)
	case typeString:
		return r.text()
	case typeArray:
		of, n := number[uint32](r), number[uint64](r)
		var texts []string
		var numbers []int32
		for range n {
			switch v := r.value(of).(type) {
			case string:
				texts = append(texts, v)
			case int32:
				numbers = append(numbers, v)
			}
		}
		if of == typeString {
			return texts
		}
		return numbers
	}
	r.t.Fatal("a value of type", kind)
	return nil
}

type found struct {
	Shape []uint64 // innermost first
	Kind  uint32
	Data  []byte
}

// read takes a file apart.
func read(t interface{ Fatal(...any) }, data []byte, sizes map[uint32]int) (keys map[string]any, tensors map[string]found) {
	r := &reader{t, bytes.NewReader(data)}
	if magic := number[[4]byte](r); string(magic[:]) != "GGUF" || number[uint32](r) != 3 {
		t.Fatal("no GGUF of version 3")
	}
	n, entries := number[uint64](r), number[uint64](r)
	keys, tensors = map[string]any{}, map[string]found{}
	for range entries {
		key := r.text()
		keys[key] = r.value(number[uint32](r))
	}
	offsets, order := map[string]uint64{}, []string{}
	for range n {
		name := r.text()
		f := found{Shape: make([]uint64, number[uint32](r))}
		for i := range f.Shape {
			f.Shape[i] = number[uint64](r)
		}
		f.Kind, offsets[name] = number[uint32](r), number[uint64](r)
		tensors[name], order = f, append(order, name)
	}
	start := (uint64(len(data)-r.b.Len()) + alignment - 1) / alignment * alignment
	for _, name := range order {
		f, size := tensors[name], 1
		for _, d := range f.Shape {
			size *= int(d)
		}
		at := start + offsets[name]
		if at%alignment != 0 || at+uint64(size*sizes[f.Kind]) > uint64(len(data)) {
			t.Fatal(name, "lies at", at, "of", len(data))
		}
		f.Data = data[at:][:size*sizes[f.Kind]]
		tensors[name] = f
	}
	return keys, tensors
}

var sizes = map[uint32]int{0: 4, 1: 2, 30: 2}

// What is written is what a reader finds, for networks of all kinds that have a place in the format.
func TestFileIsWhatWasMeant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		heads := rapid.IntRange(1, 3).Draw(t, "heads") * 2
		c := network.Config{VocabSize: rapid.IntRange(3, 9).Draw(t, "V"), Layers: rapid.IntRange(1, 3).Draw(t, "layers"), Heads: heads, HiddenSize: 4 * heads, Intermediate: 6,
			MaxPositions: 7, Norm: network.NormRMS, Activation: network.SwiGLU, KeyValueHeads: heads / rapid.SampledFrom([]int{1, 2}).Draw(t, "shared"),
			Tied: rapid.Bool().Draw(t, "tied"), QKVBias: rapid.Bool().Draw(t, "biases"), LogitsShift: rapid.Bool().Draw(t, "shift")}.Filled()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		p := precisions[rapid.SampledFrom([]string{exporters.FP32, exporters.FP16Weights, exporters.BF16}).Draw(t, "precision")]
		values := network.Initialise(c, rapid.Uint64().Draw(t, "seed"))
		f := &file{entries: []entry{{"a", uint32(7)}, {"b", float32(0.5)}, {"c", true}, {"d", "é"}, {"e", []int32{-1, 2}}, {"f", []string{"", "x y"}}}, tensors: tensors(c, values, p)}
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			t.Fatal(err)
		}
		keys, got := read(t, b.Bytes(), sizes)
		want := map[string]any{"a": uint32(7), "b": float32(0.5), "c": true, "d": "é", "e": []int32{-1, 2}, "f": []string{"", "x y"}}
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
		if len(got) != len(network.Params(c)) {
			t.Errorf("%d tensors for %d parameters", len(got), len(network.Params(c)))
		}
		for _, x := range f.tensors {
			values, err := x.elements()
			if err != nil {
				t.Fatal(err)
			}
			shape := []uint64{}
			for _, n := range slices.Backward(x.shape) {
				shape = append(shape, uint64(n))
			}
			if diff := cmp.Diff(found{shape, x.kind(), values.Data}, got[x.name]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", x.name, diff)
			}
			if len(x.shape) == 1 && values.DType != safetensors.F32 {
				t.Errorf("%s is a vector of %s", x.name, values.DType)
			}
		}
	})
}

// Permuted, q and k give the same products under a rotation of neighbours as they gave under one of halves.
func TestNeighboursTurnAsHalvesDid(t *testing.T) {
	const heads, rows, position = 2, 6, 5.0
	q := make([]float32, heads*rows)
	for i := range q {
		q[i] = float32(i*i%7) - 2.5
	}
	turn := func(a, b float32, i int) (float64, float64) {
		s, c := math.Sincos(position * math.Pow(100, -2*float64(i)/rows))
		return float64(a)*c - float64(b)*s, float64(b)*c + float64(a)*s
	}
	p := neighbours(q, heads, rows)
	for h := range heads {
		for i := range rows / 2 {
			a, b := turn(q[h*rows+i], q[h*rows+i+rows/2], i)
			c, d := turn(p[h*rows+2*i], p[h*rows+2*i+1], i)
			if a != c || b != d {
				t.Errorf("head %d, pair %d: halves %g %g, neighbours %g %g", h, i, a, b, c, d)
			}
		}
	}
}
