package precision_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/exporters/onnx/precision"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// layer is a product as files write it: y = x W + bias, and z = -x W where the weights are shared.
type layer struct {
	k, n  int64
	w     []float32 // [k, n]
	bias  []float32 // nil: none
	how   string    // where the weights stand: "initializer", "half", "identity", "transpose", "constant", "gemm", "gemm transposed"
	twice bool
}

func (l layer) model(t fatal) *graph.Model {
	t.Helper()
	b := graph.NewBuilder("layer", 20)
	x := b.Input("x", graph.Float32, graph.Named("T"), graph.Known(l.k))
	w, turned := l.w, make([]float32, len(l.w))
	for i := range l.k {
		for j := range l.n {
			turned[j*l.k+i] = w[i*l.n+j]
		}
	}
	var weight graph.Value
	switch l.how {
	case "half":
		half, err := safetensors.Of("w", []int64{l.k, l.n}, w).To(safetensors.F16)
		if err != nil {
			t.Fatal(err)
		}
		weight = b.Cast(b.Initializer(&graph.Tensor{Name: "w", Type: graph.Float16, Dims: half.Shape, Raw: half.Data}), graph.Float32)
	case "identity":
		weight = b.Identity(b.Initializer(graph.OfFloats("w", []int64{l.k, l.n}, w)))
	case "transpose":
		weight = b.Transpose(b.Initializer(graph.OfFloats("w", []int64{l.n, l.k}, turned)), 1, 0)
	case "constant":
		weight = b.Op("Constant", []*graph.Attribute{graph.TensorValue("value", graph.OfFloats("", []int64{l.k, l.n}, w))})
	case "gemm transposed":
		weight = b.Initializer(graph.OfFloats("w", []int64{l.n, l.k}, turned))
	default:
		weight = b.Initializer(graph.OfFloats("w", []int64{l.k, l.n}, w))
	}
	var bias, y graph.Value
	if l.bias != nil {
		bias = b.Initializer(graph.OfFloats("bias", []int64{l.n}, l.bias))
	}
	if l.how == "gemm" || l.how == "gemm transposed" {
		y = b.Gemm(x, weight, bias, false, l.how != "gemm")
	} else if y = b.MatMul(x, weight); bias.Given() {
		y = b.Add(y, bias)
	}
	outputs := []graph.Output{{Name: "y", Value: y}}
	if l.twice {
		outputs = append(outputs, graph.Output{Name: "z", Value: b.Neg(b.MatMul(x, b.Initializer(graph.OfFloats("v", []int64{l.k, l.n}, w))))})
	}
	m, err := b.Model(outputs...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestProducts: a layer in integers is the layer in float64 but for what rounding to nearest can do: half a step of each weight, and a step of each
// activation, of which its zero point may be half.
func TestProducts(t *testing.T) {
	d := device(t)
	rapid.Check(t, func(r *rapid.T) {
		numbers := func(name string, n int64) []float32 {
			scale := rapid.SampledFrom([]float32{1e-3, 1, 50}).Draw(r, name+" scale")
			return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) float32 { return scale * float32(rapid.IntRange(-999, 999).Draw(r, "")) / 999 }), int(n), int(n)).Draw(r, name)
		}
		l := layer{k: rapid.Int64Range(1, 24).Draw(r, "K"), n: rapid.Int64Range(16, 20).Draw(r, "N"), twice: rapid.Bool().Draw(r, "twice"),
			how: rapid.SampledFrom([]string{"initializer", "half", "identity", "transpose", "constant", "gemm", "gemm transposed"}).Draw(r, "how")}
		if l.w = numbers("w", l.k*l.n); rapid.Bool().Draw(r, "biased") {
			l.bias = numbers("bias", l.n)
		}
		if l.how == "half" { // what the file holds
			for i, w := range l.w {
				l.w[i] = safetensors.FromFloat16(safetensors.Float16(w))
			}
		}
		rows := rapid.Int64Range(1, 5).Draw(r, "T")
		x := numbers("x", rows*l.k)
		x[0] = max(x[0], 1e-4) // the standard leaves the scale of zeros open
		m, err := precision.Int8(l.model(r))
		if err != nil {
			r.Fatal(err)
		}
		if err := graph.Check(m); err != nil {
			r.Fatal(err)
		}
		if q := count(m, "DynamicQuantizeLinear"); q != 1 {
			r.Fatalf("%d values quantised, want 1", q)
		}
		if n := count(m, "MatMul") + count(m, "Gemm"); n != 0 {
			r.Fatalf("%d products of float32 are left", n)
		}
		out := run(t, r, d, m, map[string]int64{"T": rows}, nil, map[string][]float32{"x": x})
		step := (float64(max(slices.Max(x), 0)) - float64(min(slices.Min(x), 0))) / 255
		for i := range rows {
			for j := range l.n {
				want, bound, most := 0.0, 0.0, 0.0
				for k := range l.k {
					most = max(most, math.Abs(float64(l.w[k*l.n+j])))
				}
				for k := range l.k {
					a, w := float64(x[i*l.k+k]), float64(l.w[k*l.n+j])
					want += a * w
					bound += (math.Abs(a)+step)*most/63/2 + step*math.Abs(w)
				}
				outputs := map[string]float64{"y": want}
				if l.bias != nil {
					outputs["y"] += float64(l.bias[j])
				}
				if l.twice {
					outputs["z"] = -want
				}
				for name, want := range outputs {
					got := float64(out[name][i*l.n+j])
					if tolerance := bound*1.001 + 1e-5*(math.Abs(want)+bound); !(math.Abs(got-want) <= tolerance) {
						r.Fatalf("%s[%d, %d] = %g, want %g, at most %g away", name, i, j, got, want, tolerance)
					}
				}
			}
		}
	})
}
