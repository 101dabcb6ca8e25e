package graph

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMistakes: a wrong call is told with graph, scope, the line of the caller, the operator with its operands, and what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name  string
		opset int64
		call  func(b *Builder, x, ids Value) // x float32 [B, L, 3], ids int64 [B, L]
		want  string
	}{
		{"inner dimensions", 20, func(b *Builder, x, _ Value) { b.MatMul(x, x) }, "LINE: MatMul(x float32[B, L, 3], x float32[B, L, 3]): "},
		{"inner numbers", 20, func(b *Builder, x, _ Value) { b.MatMul(x, b.Floats([]int64{2, 1}, []float32{1, 2})) },
			"MatMul(x float32[B, L, 3], constant float32[2, 1]): inner dimensions 3 and 2 differ; expected [.., M, K] and [.., K, N], transpose or reshape one of them"},
		{"broadcast", 20, func(b *Builder, x, _ Value) { b.Add(x, b.Floats([]int64{2}, []float32{1, 2})) }, "shapes [B, L, 3] and [2] do not fit: 3 against 2; expected equal sizes or 1"},
		{"types", 20, func(b *Builder, x, ids Value) { b.Mul(x, ids) }, "Mul(x float32[B, L, 3], ids int64[B, L]): types differ: float32 and int64; cast one of them"},
		{"booleans", 20, func(b *Builder, x, _ Value) { b.Add(b.Greater(x, x), x) }, "input 0 is bool; expected numbers, cast it"},
		{"float of integers", 20, func(b *Builder, _, ids Value) { b.Exp(ids) }, "input 0 is int64; expected a float tensor, cast it"},
		{"a misspelt operator", 20, func(b *Builder, x, _ Value) { b.Op("Matmul", nil, x, x) }, "operator Matmul is unknown; did you mean MatMul?"},
		{"a misspelt function", 20, func(b *Builder, x, _ Value) { b.Op("mdm.GeluGrd", nil, x, x) }, "operator mdm.GeluGrd is unknown; did you mean mdm.GeluGrad?"},
		{"no operator", 20, func(b *Builder, x, _ Value) { b.Op("Zzzzzzzzzzzzzz", nil, x) }, "is unknown; expected an operator of ONNX, or one of mdm or com.microsoft"},
		{"an operator without inference", 20, func(b *Builder, x, _ Value) { b.Op("Resize", nil, x) }, "operator Resize is not supported in graphs that are built or differentiated"},
		{"an operator of a later opset", 18, func(b *Builder, x, _ Value) { b.Op("Gelu", nil, x) }, "operator Gelu begins with opset 20, the graph has 18; raise the opset"},
		{"axes as input before their time", 17, func(b *Builder, x, _ Value) { b.Op("ReduceMax", nil, x, b.Ints(1)) }, "2 inputs given; ReduceMax takes 1 input"},
		{"axes as attribute after it", 18, func(b *Builder, x, _ Value) { b.Op("ReduceMax", []*Attribute{Ints("axes", 1)}, x) },
			"attribute axes is unknown; ReduceMax has keepdims, noop_with_empty_axes"},
		{"kind of an attribute", 20, func(b *Builder, x, _ Value) { b.Op("Softmax", []*Attribute{Float("axis", 1)}, x) }, "attribute axis has kind float; expected int"},
		{"a missing attribute", 20, func(b *Builder, x, _ Value) { b.Op("Cast", nil, x) }, "the attribute to is missing; expected one of kind int"},
		{"an attribute twice", 20, func(b *Builder, x, _ Value) { b.Op("Softmax", []*Attribute{Int("axis", 1), Int("axis", 1)}, x) }, "attribute axis is given twice"},
		{"a reference outside a function", 20, func(b *Builder, x, _ Value) { b.Op("Softmax", []*Attribute{Ref("axis", KindInt, "a")}, x) }, "refers to a of a function, and this is none"},
		{"too few", 20, func(b *Builder, x, _ Value) { b.Op("Add", nil, x) }, "1 input given; Add takes 2 inputs"},
		{"one left out", 20, func(b *Builder, x, _ Value) { b.Op("Add", nil, Value{}, x) }, "Add((left out), x float32[B, L, 3]): input 0 is missing"},
		{"too many outputs", 20, func(b *Builder, x, _ Value) { b.OpN("Add", 2, nil, x, x) }, "2 outputs wanted; Add gives 1 output"},
		{"no outputs", 20, func(b *Builder, x, _ Value) { b.OpN("Add", 0, nil, x, x) }, "no output is asked for"},
		{"an axis", 20, func(b *Builder, x, _ Value) { b.Softmax(x, 3) }, "axis 3 of a tensor of rank 3; expected -3 to 2"},
		{"an axis of a scalar", 20, func(b *Builder, _, _ Value) { b.Concat(0, b.Float(1), b.Float(1)) }, "axis 0 of a scalar"},
		{"a permutation", 20, func(b *Builder, x, _ Value) { b.Transpose(x, 0, 1, 1) }, "perm [0 1 1] for a tensor of rank 3; expected every axis once"},
		{"elements", 20, func(b *Builder, _, _ Value) { b.Reshape(b.Ints(1, 2, 3), Known(2)) }, "3 elements do not fill [2], which has 2; expected as many"},
		{"a divisor", 20, func(b *Builder, _, _ Value) { b.Reshape(b.Ints(1, 2, 3), Known(2), Known(-1)) }, "3 elements do not fill [2, -1]"},
		{"two open sizes", 20, func(b *Builder, x, _ Value) { b.Reshape(x, Named("P"), Named("Q")) }, "reshaping x float32[B, L, 3] to [P, Q]: more than one dimension is open; use ReshapeLike"},
		{"no room to copy a size", 20, func(b *Builder, _, ids Value) { b.Op("Reshape", nil, ids, b.Ints(0, 1, 0)) }, "copies dimension 2 of a tensor of rank 2"},
		{"a squeeze", 20, func(b *Builder, x, _ Value) { b.Squeeze(x, 2) }, "axis 2 has size 3; expected 1"},
		{"a negative size", 20, func(b *Builder, x, _ Value) { b.Op("Pad", nil, x, b.Ints(0, 0, -2, 0, 0, -2)) }, "the result would have the size -1 in dimension 2"},
		{"cross entropy", 20, func(b *Builder, x, ids Value) { b.Op("mdm.CrossEntropy", nil, x, ids) }, "expected logits [N, V] and int64 targets [N]"},
		{"the scalars of AdamW", 20, func(b *Builder, _, _ Value) {
			p := b.Floats([]int64{2}, []float32{1, 2})
			b.OpN("mdm.AdamW", 3, nil, p, p, p, p, p, p, p)
		}, "expected 4: learning rate, clip factor"},
		{"vectors of AdamW", 20, func(b *Builder, _, _ Value) {
			p, q := b.Floats([]int64{2}, []float32{1, 2}), b.Floats([]int64{3}, []float32{1, 2, 3})
			b.OpN("mdm.AdamW", 3, nil, p, p, p, p, p, q, b.Floats([]int64{4}, make([]float32, 4)))
		}, "expected vectors [P] of one length, decay and rate [P] or [1]"},
		{"a value of another graph", 20, func(b *Builder, x, _ Value) {
			b.Add(x, NewBuilder("other", 20).Input("x", Float32, Known(3)))
		}, "Add: its input 1, x float32[3], belongs to another graph"},
		{"an input twice", 20, func(b *Builder, _, _ Value) { b.Input("x", Float32) }, `input "x": the name is empty or taken; expected a new one`},
		{"data of another length", 20, func(b *Builder, _, _ Value) { b.Floats([]int64{3}, []float32{1}) }, "4 bytes of data; expected 12 for float32[3]"},
		{"no network", 20, func(b *Builder, x, _ Value) { b.Network("net", map[string]Value{"x": x}) }, `network "net" is not declared`},
		{"an opset", 16, func(*Builder, Value, Value) {}, "opset 16; expected 17 to 23"},
		{"a first mistake is the one that is told", 20, func(b *Builder, x, _ Value) {
			b.Exp(b.Op("Nothing", nil, b.Squeeze(x, 2)))
		}, "Squeeze"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBuilder("net", c.opset)
			x, ids := b.Input("x", Float32, Dims("B", "L", 3)...), b.Input("ids", Int64, Dims("B", "L")...)
			leave := b.Scope("layer.0")
			c.call(b, x, ids)
			leave()
			if c.name == "inner dimensions" { // 3 and L: only the run can tell
				if b.Err() != nil {
					t.Error(b.Err())
				}
				return
			}
			if b.Err() == nil || !strings.Contains(b.Err().Error(), c.want) {
				t.Fatalf("got %v\nwant %s", b.Err(), c.want)
			}
			if prefix := "graph net: layer.0: builder_test.go:"; c.opset > 16 && !strings.HasPrefix(b.Err().Error(), prefix) {
				t.Errorf("got %v\nwant %s", b.Err(), prefix)
			}
			if _, err := b.Model(); err != b.Err() {
				t.Error("Model returns", err)
			}
		})
	}
}

func TestMistakeNamesItsLine(t *testing.T) {
	b := NewBuilder("net", 20)
	x := b.Input("x", Float32, Known(3))
	_, _, line, _ := runtime.Caller(0)
	b.SwapLast(x) // writes a Transpose inside the package
	if want := "builder_test.go:" + strconv.Itoa(line+1) + ": "; b.Err() == nil || !strings.Contains(b.Err().Error(), want) {
		t.Errorf("got %v, want %s", b.Err(), want)
	}
}

// TestOutputNames gives values under all kinds of names and runs the model.
func TestOutputNames(t *testing.T) {
	b := NewBuilder("names", 20)
	x := b.Input("x", Float32, Named("N"))
	w := b.Initializer(OfFloats("w", []int64{1}, []float32{5}))
	y := b.Neg(x)
	b.Exp(y) // nobody reads it
	m, err := b.Model(Output{"first", y}, Output{y.Name(), y}, Output{"third", y}, Output{"x", x}, Output{"copy", x}, Output{"w", w}, Output{"weight", w},
		Output{"dead end", b.Relu(y)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, o := range runModel(t, asWritten, m, tensor(Float32, []int64{1}, []float64{2})) {
		got[o.Name] = doubles(t, o)[0]
	}
	want := map[string]float64{"first": -2, "Neg": -2, "third": -2, "x": 2, "copy": 2, "w": 5, "weight": 5, "dead end": 0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, n := range m.Graph.Nodes {
		if n.Op == "Exp" {
			t.Error("an operator that no output needs was kept")
		}
	}
	for _, outputs := range [][]Output{{{"", y}}, {{"a", y}, {"a", x}}, {{"w", y}}, {{"a", Value{}}}, {{"a", NewBuilder("o", 20).Input("x", Float32)}}} {
		b := *b // the mistake stays with the copy
		if _, err := b.Model(outputs...); err == nil {
			t.Errorf("%v: no error", outputs)
		}
	}
}

// TestNames: scopes and repeated operators give names that are never taken.
func TestNames(t *testing.T) {
	b := NewBuilder("names", 20)
	x := b.Input("a/Neg_1", Float32, Known(2))
	b.Input("TopK.1", Int64)
	got := []string{}
	func() {
		defer b.Scope("a")()
		got = append(got, b.Neg(x).Name(), b.Neg(x).Name(), b.Float(1).Name())
		func() {
			defer b.Scope("b")()
			got = append(got, b.Neg(x).Name(), b.Float(1).Name())
		}()
		got = append(got, b.Neg(x).Name())
	}()
	for _, v := range b.OpN("TopK", 2, nil, x, b.Ints(1)) {
		got = append(got, v.Name())
	}
	if d := cmp.Diff([]string{"a/Neg", "a/Neg_2", "constant", "a/b/Neg", "constant", "a/Neg_3", "TopK", "TopK.1_"}, got); d != "" {
		t.Error(d)
	}
}

func TestNetwork(t *testing.T) {
	declare := func() (*Builder, Value) {
		b := NewBuilder("loss", 20)
		b.DeclareNetwork("net", Signature{
			Inputs:  []Port{{"ids", Int64, Dims("B", "L")}, {"mask", Int64, Dims("B", "L")}, {"memory", Float32, Dims("B", Dim{Size: -1}, Dim{Size: -1}, "past + 1")}},
			Outputs: []Port{{"logits", Float32, Dims("B", "L", 50)}, {"pooled", Float32, Dims("B", 8)}, {"cat", Float32, Dims("L + B", "2*B*L")}, {"state", Float32, Dims("past + 1", "other")}},
		})
		return b, b.Input("tokens", Int64, Dims("rows", 7)...)
	}
	b, ids := declare()
	memory := b.Input("memory", Float32, Dims("rows", 3, 4, "M")...)
	out := b.Network("net", map[string]Value{"ids": ids, "memory": memory})
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	got := map[string]string{}
	for name, v := range out {
		got[name] = shapeText(public(v.Shape()))
	}
	if d := cmp.Diff(map[string]string{"logits": "[rows, 7, 50]", "pooled": "[rows, 8]", "cat": "[rows + 7, 14*rows]", "state": "[M, ?]"}, got); d != "" {
		t.Error(d)
	}
	if _, err := b.Model(Output{"logits", out["logits"]}); err != nil {
		t.Error(err)
	}
	for want, inputs := range map[string]func(b *Builder, ids Value) map[string]Value{
		`network "net" has no input "idz"; it has ["ids" "mask" "memory"]`: func(_ *Builder, ids Value) map[string]Value { return map[string]Value{"idz": ids} },
		"input ids is f float32[2, 7]; expected int64": func(b *Builder, _ Value) map[string]Value {
			return map[string]Value{"ids": b.Input("f", Float32, Dims(2, 7)...)}
		},
		"expected shape [B, L]": func(b *Builder, _ Value) map[string]Value { return map[string]Value{"ids": b.Ints(1)} },
		"8 where another input has 7 for L": func(b *Builder, ids Value) map[string]Value {
			return map[string]Value{"ids": ids, "mask": b.Input("m", Int64, Dims("rows", 8)...)}
		},
	} {
		b, ids := declare()
		if b.Network("net", inputs(b, ids)); b.Err() == nil || !strings.Contains(b.Err().Error(), want) {
			t.Errorf("got %v, want %s", b.Err(), want)
		}
	}
}

// TestPackedConstants: constants whose elements stand in fields of their own type are not taken for one another.
func TestPackedConstants(t *testing.T) {
	b := NewBuilder("packed", 20)
	x := b.Input("x", Bool, Known(1))
	yes := b.Constant(&Tensor{Type: Bool, Int32s: []byte{1}})
	no := b.Constant(&Tensor{Type: Bool, Int32s: []byte{0}})
	m, err := b.Model(Output{"and", b.And(x, b.And(yes, no))}, Output{"or", b.And(x, b.Or(yes, no))})
	if err != nil {
		t.Fatal(err)
	}
	got := runModel(t, asWritten, m, tensor(Bool, []int64{1}, []float64{1}))
	if !bytes.Equal(got[0].Raw, []byte{0}) || !bytes.Equal(got[1].Raw, []byte{1}) {
		t.Error(got[0].Raw, got[1].Raw)
	}
}
