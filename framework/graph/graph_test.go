package graph

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

func small() *Model {
	return &Model{
		IRVersion: 8, Producer: "test", Doc: "d", Opsets: []Opset{{"", 17}, {"mdm", 1}},
		Metadata: []Entry{{"k", "v"}},
		Graph: &Graph{
			Name: "g",
			Nodes: []*Node{{Name: "n", Op: "Clip", Inputs: []string{"x", "", "hi"}, Outputs: []string{"y"}, Attributes: []*Attribute{
				Int("i", 0), Float("f", 0), String("s", ""), Ints("l", 1, -2), TensorValue("t", OfInts("", []int64{2}, []int64{3, -4})),
				{Name: "g", Kind: KindGraph, G: &Graph{Name: "inner", Initializers: []*Tensor{{Name: "e", Type: Float32, Dims: []int64{1},
					External: []Entry{{"location", "w.bin"}}, external: true}}}},
				{Name: "fs", Kind: KindFloats, Floats: []float32{1, 2}}, {Name: "r", Kind: KindInt, Ref: "outer"},
			}}},
			Initializers: []*Tensor{OfFloats("hi", nil, []float32{6})},
			Inputs: []*ValueInfo{{Name: "x", Type: Float32, HasRank: true, Shape: []Dim{Named("b"), Known(0), Known(7), {Size: -1}}},
				{Name: "hi", Type: Float32, HasRank: true}},
			Outputs: []*ValueInfo{{Name: "y", Type: BFloat16}},
		},
		Functions: []*Function{{Domain: "mdm", Name: "F", Inputs: []string{"a"}, Outputs: []string{"b"}, Attributes: []string{"outer"},
			Nodes: []*Node{{Op: "Identity", Inputs: []string{"a"}, Outputs: []string{"b"}}}, Opsets: []Opset{{"", 17}}}},
	}
}

var unexported = cmp.Options{cmp.AllowUnexported(Tensor{}), cmp.Comparer(bytes.Equal)}

func TestRoundTrip(t *testing.T) {
	want := small()
	got, err := Decode(want.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, unexported); d != "" {
		t.Error(d)
	}
	if got.Opset("") != 17 || got.Opset("mdm") != 1 || got.Opset("other") != 0 {
		t.Error("opsets", got.Opsets)
	}
	if f := got.Graph.Feeds(); len(f) != 1 || f[0].Name != "x" {
		t.Error("feeds", f)
	}
	if d := cmp.Diff([]string{"w.bin"}, got.External()); d != "" {
		t.Error(d)
	}
	ints, err := got.Graph.Nodes[0].Attributes[4].T.Ints()
	if d := cmp.Diff([]int64{3, -4}, ints); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestRealModel(t *testing.T) {
	for _, name := range []string{"rxnfp-bert", "rxnmapper-albert"} {
		b, err := os.ReadFile(filepath.Join("../../../shared/models", name, "onnx/model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if m.IRVersion != 8 || m.Opset("") != 17 || m.External() != nil {
			t.Error(name, m.IRVersion, m.Opsets, m.External())
		}
		want := &ValueInfo{Name: "logits", Type: Float32, HasRank: true, Shape: []Dim{Named("b"), Named("s"), Known(591)}}
		if d := cmp.Diff(want, m.Graph.Outputs[0]); d != "" {
			t.Error(d)
		}
		lo, hi := uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&b[len(b)-1]))
		for _, w := range m.Graph.Initializers {
			if p := uintptr(unsafe.Pointer(unsafe.SliceData(w.Raw))); len(w.Raw) > 0 && (p < lo || p > hi) {
				t.Fatal(name, w.Name, "was copied")
			}
		}
		again, err := Decode(m.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, again, unexported); d != "" {
			t.Error(d)
		}
	}
}

func TestFragmentMerges(t *testing.T) {
	base := small()
	fragment := &Model{Opsets: []Opset{{"extra", 1}}, Graph: &Graph{
		Nodes:   []*Node{{Op: "Identity", Inputs: []string{"y"}, Outputs: []string{"z"}}},
		Outputs: []*ValueInfo{{Name: "z", Type: Float32}}}}
	got, err := Decode(append(base.Encode(), fragment.Encode()...))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Graph.Nodes) != 2 || got.Graph.Name != "g" || len(got.Graph.Outputs) != 2 || got.Opset("extra") != 1 {
		t.Errorf("%+v", got.Graph)
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	m := small()
	m.Unknown = protowire.AppendString(protowire.AppendTag(nil, 99, protowire.BytesType), "kept")
	m.Graph.Unknown = protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 5)
	got, err := Decode(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Unknown, m.Unknown) || !bytes.Equal(got.Graph.Unknown, m.Graph.Unknown) {
		t.Error("lost", got.Unknown, got.Graph.Unknown)
	}
}

func TestHostile(t *testing.T) {
	whole := small().Encode()
	for n := range len(whole) - 1 {
		if _, err := Decode(whole[:n+1]); err != nil && !strings.Contains(err.Error(), "damaged") {
			t.Fatal(n, err)
		}
	}
	deep := []byte{}
	for range 4000 { // a graph in an attribute in a node in a graph ...
		deep = message(nil, 1, message(nil, 5, message(nil, 6, deep)))
	}
	// 6 is the graph field of an attribute and 7 that of the model.
	cases := map[string]struct {
		in   []byte
		want string
	}{
		"a length beyond the end": {protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.BytesType), 1<<60), "unexpected EOF"},
		"nested without end":      {message(nil, 7, deep), "nested deeper than 64"},
		"a name that is a number": {protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 1), "wire type"},
		"not a model":             {[]byte("<!DOCTYPE html><html>"), "damaged"},
	}
	for name, c := range cases {
		if _, err := Decode(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(small().Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		once := m.Encode()
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("own encoding refused: %v", err)
		}
		if !bytes.Equal(once, again.Encode()) {
			t.Fatal("encoding is not stable")
		}
		m.External()
	})
}
