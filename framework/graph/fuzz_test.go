package graph

import (
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// samples are models of many kinds.
func samples() []*Model {
	out := []*Model{small(), checked(), foreign()}
	for _, c := range inferenceCases {
		b := NewBuilder(c.name, max(18, c.from))
		c.build(b)
		var outputs []Output
		for _, n := range b.Nodes() {
			outputs = append(outputs, Output{n.Outputs[0], b.Out(n, 0)})
		}
		m, err := b.Model(outputs...)
		if err != nil {
			panic(err)
		}
		out = append(out, m)
	}
	return out
}

// edit changes a model as the bytes say, four a change: a mutation of bytes alone seldom leaves a model that can be read.
func edit(m *Model, program []byte) {
	g := m.Graph
	if g == nil || len(g.Nodes) == 0 {
		return
	}
	ops := slices.Sorted(maps.Keys(operators))
	numbers := []int64{0, 1, 2, 3, -1, -2, 5, 64, 1 << 31, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2}
	var values []string
	for _, n := range g.Nodes {
		values = append(append(values, n.Inputs...), n.Outputs...)
	}
	for ; len(program) >= 4; program = program[4:] {
		kind, a, b, c := program[0], int(program[1]), int(program[2]), int(program[3])
		n := g.Nodes[a%len(g.Nodes)]
		number := numbers[c%len(numbers)]
		switch {
		case kind%8 == 0:
			n.Op, n.Domain = ops[c%len(ops)], ""
			if i := strings.LastIndexByte(n.Op, '.'); i >= 0 {
				n.Domain, n.Op = n.Op[:i], n.Op[i+1:]
			}
		case kind%8 == 1 && len(n.Inputs) > 0:
			n.Inputs[b%len(n.Inputs)] = values[c%len(values)]
		case kind%8 == 2:
			n.Inputs = append(n.Inputs, values[c%len(values)])
		case kind%8 == 3 && len(n.Inputs) > 0:
			n.Inputs = n.Inputs[:b%len(n.Inputs)]
		case kind%8 == 4 && len(n.Attributes) > 0:
			t := n.Attributes[b%len(n.Attributes)]
			if t.I = number; len(t.Ints) > 0 {
				t.Ints[a%len(t.Ints)] = number
			}
		case kind%8 == 5:
			n.Outputs = append(n.Outputs, strconv.Itoa(a)+"out"+strconv.Itoa(c))
		case kind%8 == 6 && len(g.Initializers) > 0:
			t := g.Initializers[b%len(g.Initializers)]
			if v, err := t.Ints(); err == nil && len(v) > 0 {
				v = slices.Clone(v)
				v[a%len(v)] = number
				*t = *OfInts(t.Name, t.Dims, v)
			}
		case kind%8 == 7 && len(g.Inputs) > 0:
			v := g.Inputs[b%len(g.Inputs)]
			if len(v.Shape) > 0 {
				v.Shape[a%len(v.Shape)] = [...]Dim{Known(max(number, -1)), Named("B"), Named("?1"), Named("L - 1"), Named("a b"), Named("B*L")}[c%6]
			}
		}
	}
}

// judge holds a model, sound or not, against what must always be so: nothing panics; what was listed, written and read again is
// judged the same; what was replayed can be finished.
func judge(t fatal, m *Model) {
	bad := Check(m)
	if err := Print(io.Discard, m); err != nil {
		t.Fatalf("%v", err)
	}
	again, err := Decode(m.Encode())
	if err != nil {
		t.Fatalf("%v", err)
	}
	if still := Check(again); (bad == nil) != (still == nil) {
		t.Fatalf("%v became %v", bad, still)
	}
	b := NewBuilder("replayed", min(max(m.Opset(""), MinOpset), MaxOpset))
	bind := map[string]Value{}
	if m.Graph != nil {
		for _, v := range m.Graph.Feeds() {
			bind[v.Name] = b.Input("in/"+v.Name, v.Type, v.Shape...)
		}
	}
	for name, v := range b.Replay(m, bind, nil) {
		if b.Err() != nil {
			return
		}
		if _, err := b.Model(Output{"out/" + name, v}); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// TestEdited judges models with a few wrong places.
func TestEdited(t *testing.T) {
	var encoded [][]byte
	for _, m := range samples() {
		encoded = append(encoded, m.Encode())
	}
	rapid.Check(t, func(t *rapid.T) {
		m, err := Decode(rapid.SampledFrom(encoded).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		edit(m, rapid.SliceOfN(rapid.Byte(), 4, 24).Draw(t, "program"))
		judge(t, m)
	})
}

func FuzzCheck(f *testing.F) {
	for _, m := range samples() {
		f.Add(m.Encode(), []byte{7, 0, 0, 3, 1, 3, 0, 9, 6, 0, 1, 2})
	}
	f.Fuzz(func(t *testing.T, b, program []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		edit(m, program)
		judge(t, m)
	})
}
