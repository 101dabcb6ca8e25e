package autodiff_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/autodiff/internal/run"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// golden is one case of testdata/golden.py.
type golden struct {
	Op, Name   string
	Opsets     []int64 // that have this form of the operator
	Attributes map[string]any
	Inputs     []*goldenInput // nil where left out
	Outputs    int
	Dynamic    bool     // also with dimensions that are known at the run only
	Cotangents [][]byte // of the outputs; nil where none comes
	Shapes     [][]int64
}

type goldenInput struct {
	Kind       string // grad, fed or const
	Type       graph.Type
	Dims       []int64
	Data, Grad []byte
}

// attributes turns JSON values into attributes: a number of a float attribute has a fraction or stands in floats.
func (g golden) attributes() []*graph.Attribute {
	floats := map[string]bool{"alpha": true, "beta": true, "epsilon": true, "scale": true}
	var out []*graph.Attribute
	for k, v := range g.Attributes {
		switch v := v.(type) {
		case string:
			out = append(out, graph.String(k, v))
		case float64:
			if floats[k] {
				out = append(out, graph.Float(k, float32(v)))
			} else {
				out = append(out, graph.Int(k, int64(v)))
			}
		case []any:
			ints := make([]int64, len(v))
			for i := range v {
				ints[i] = int64(v[i].(float64))
			}
			out = append(out, graph.Ints(k, ints...))
		}
	}
	slices.SortFunc(out, func(a, b *graph.Attribute) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// build writes the case's operator and the gradients of sum(output * cotangent).
func (g golden) build(opset int64, dynamic bool, o autodiff.Options) (*graph.Model, map[string]*graph.Tensor, error) {
	b := graph.NewBuilder(g.Op, opset)
	feeds := map[string]*graph.Tensor{}
	in, wrt, outputs := make([]graph.Value, len(g.Inputs)), []graph.Value(nil), []graph.Output(nil)
	for i, x := range g.Inputs {
		if x == nil {
			continue
		}
		t := &graph.Tensor{Type: x.Type, Dims: x.Dims, Raw: x.Data}
		if x.Kind == "const" {
			in[i] = b.Constant(t)
			continue
		}
		name := fmt.Sprintf("x%d", i)
		shape := make([]graph.Dim, len(x.Dims))
		for j, d := range x.Dims {
			shape[j] = graph.Known(d)
			// Sizes that the operator cannot do without stay: lengths of index tuples and of shapes.
			if dynamic && (x.Kind == "grad" || j < len(shape)-1 || g.Op == "Gather") {
				shape[j] = graph.Named(fmt.Sprintf("D%d%d", i, j))
			}
		}
		in[i], feeds[name] = b.Input(name, x.Type, shape...), t
		if x.Kind == "grad" {
			wrt = append(wrt, in[i])
			outputs = append(outputs, graph.Output{Name: fmt.Sprintf("d%d", i)})
		}
	}
	var loss graph.Value
	for i, y := range b.OpN(g.Op, g.Outputs, g.attributes(), in...) {
		if g.Cotangents[i] == nil {
			continue
		}
		name := fmt.Sprintf("c%d", i)
		c := b.Input(name, graph.Float32, y.Shape()...)
		feeds[name] = &graph.Tensor{Type: graph.Float32, Dims: g.Shapes[i], Raw: g.Cotangents[i]}
		sum := b.ReduceSum(b.Mul(y, c), false)
		if loss.Given() {
			sum = b.Add(loss, sum)
		}
		loss = sum
	}
	if err := b.Err(); err != nil {
		return nil, nil, err
	}
	grads, err := autodiff.Gradients(b, loss, wrt, o)
	if err != nil {
		return nil, nil, err
	}
	for i := range outputs {
		outputs[i].Value = grads[i]
	}
	m, err := b.Model(outputs...)
	return m, feeds, err
}

// TestRules holds every rule against PyTorch: with known and with symbolic shapes, with and without kernel calls, with one and two
// threads, many times. The table of the worst error of each operator comes with -v.
func TestRules(t *testing.T) {
	var cases []golden
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	worst := map[string]float64{}
	for _, g := range cases {
		for _, f := range g.forms() {
			name := fmt.Sprintf("%s %s %+v", g.Op, g.Name, f)
			m, feeds, err := g.build(f.opset, f.dynamic, f.Options)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if e, seen := g.check(t, name, m, feeds), worst[g.Op]; !(e <= seen) || seen == 0 {
				worst[g.Op] = e
			}
		}
	}
	var lines []string
	for op, e := range worst {
		lines = append(lines, fmt.Sprintf("%-34s %.1e", op, e))
		if !(e <= 1e-5) {
			t.Errorf("%s: relative error %.1e, want 1e-5", op, e)
		}
	}
	slices.Sort(lines)
	t.Logf("worst relative error of %d operators:\n%s", len(lines), strings.Join(lines, "\n"))
}

// form is one way of building a case.
type form struct {
	opset   int64
	dynamic bool
	autodiff.Options
}

func (g golden) forms() []form {
	out := []form{}
	for _, opset := range g.Opsets {
		out = append(out, form{opset: opset})
	}
	last := g.Opsets[len(g.Opsets)-1]
	others := []autodiff.Options{{Kernels: true, Recompute: true}, {Fused: true}}
	for _, o := range others {
		out = append(out, form{opset: last, Options: o})
	}
	if g.Dynamic {
		for _, o := range append(others, autodiff.Options{}) {
			out = append(out, form{last, true, o})
		}
	}
	return out
}

// check runs the gradients and returns the worst error of any run.
func (g golden) check(t *testing.T, name string, m *graph.Model, feeds map[string]*graph.Tensor) float64 {
	worst := 0.0
	for threads := 1; threads <= 2; threads++ {
		s, err := run.Open(m, threads)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return 0
		}
		defer s.Close()
		for range 20 {
			got, err := s.Run(feeds)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return 0
			}
			for i, x := range g.Inputs {
				if x == nil || x.Kind != "grad" {
					continue
				}
				d := got[fmt.Sprintf("d%d", i)]
				if !slices.Equal(d.Dims, x.Dims) {
					t.Errorf("%s: the gradient of input %d has shape %v, want %v", name, i, d.Dims, x.Dims)
					return 0
				}
				e := relative(floats(d.Raw), floats(x.Grad))
				if !(e <= 1e-5) {
					t.Errorf("%s: input %d: relative error %.1e: got %v, want %v", name, i, e, floats(d.Raw), floats(x.Grad))
					return e
				}
				worst = max(worst, e)
			}
		}
	}
	return worst
}

func floats(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// relative is max |a - b| / max |b|, NaN where a is.
func relative(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	worst, scale := 0.0, 0.0
	for i := range a {
		if d := math.Abs(float64(a[i]) - float64(b[i])); d > worst || d != d {
			worst = d
		}
		scale = max(scale, math.Abs(float64(b[i])))
	}
	if scale == 0 {
		return worst
	}
	return worst / scale
}
