package autodiff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Rows that are picked many times add up right with two threads, every time.
func TestManyThreads(t *testing.T) {
	for _, rows := range []int64{16, 256, 257, 1000} {
		const n, d = 3000, 64
		rng := rand.New(rand.NewPCG(3, uint64(rows)))
		b := graph.NewBuilder("many", 20)
		table := b.Input("table", graph.Float32, graph.Known(rows), graph.Known(d))
		ids, c := b.Input("ids", graph.Int64, graph.Known(n)), b.Input("c", graph.Float32, graph.Known(n), graph.Known(d))
		loss := b.ReduceSum(b.Mul(b.Gather(table, ids, 0), c), false)
		grads, err := autodiff.Gradients(b, loss, []graph.Value{table}, autodiff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		at, cotangent, want := make([]int64, n), make([]float32, n*d), make([]float64, rows*d)
		for i := range at {
			at[i] = rng.Int64N(rows)
			for j := range d {
				v := rng.Float32() - 0.5
				cotangent[i*d+j] = v
				want[at[i]*d+int64(j)] += float64(v)
			}
		}
		feeds := map[string]*graph.Tensor{"table": graph.OfFloats("", []int64{rows, d}, make([]float32, rows*d)), "ids": graph.OfInts("", []int64{n}, at),
			"c": graph.OfFloats("", []int64{n, d}, cotangent)}
		for _, got := range evaluate(t, b, feeds, 2, 20, grads...) {
			for i, w := range want {
				if math.Abs(float64(got[i])-w) > 1e-4 {
					t.Fatalf("%d rows: entry %d is %g, want %g", rows, i, got[i], w)
				}
			}
		}
	}
}

// Without PyTorch: the slope along a random direction is that of finite differences.
func TestFiniteDifferences(t *testing.T) {
	for name, write := range map[string]func(b *graph.Builder, x graph.Value) graph.Value{ // x [6, 8]
		"attention": func(b *graph.Builder, x graph.Value) graph.Value {
			return b.MatMul(b.Softmax(b.MatMulT(x, x, false, true, 0.3), -1), x)
		},
		"norm, gelu": func(b *graph.Builder, x graph.Value) graph.Value {
			w := b.Floats([]int64{8}, []float32{1, 2, 3, 4, -1, -2, 0.5, 1})
			return b.Gelu(b.LayerNormalization(x, w, w, 1e-5))
		},
		"rms, swiglu": func(b *graph.Builder, x graph.Value) graph.Value {
			w := b.Floats([]int64{8}, []float32{1, 2, 3, 4, -1, -2, 0.5, 1})
			y := b.RMSNormalization(x, w, 1e-5)
			return b.SwiGLU(y, b.Tanh(x))
		},
		"cross-entropy": func(b *graph.Builder, x graph.Value) graph.Value { return b.CrossEntropy(x, b.Ints(0, 7, 3, 3, 2, 1)) },
	} {
		for form, o := range forms {
			b := graph.NewBuilder(name, 20)
			x := b.Input("x", graph.Float32, graph.Known(6), graph.Known(8))
			y := write(b, x)
			rows := b.Floats([]int64{6}, []float32{1, -2, 0.5, 3, -1, 2}) // any cotangent
			if y.Rank() == 2 {
				rows = b.Unsqueeze(rows, 1)
			}
			loss := b.ReduceSum(b.Mul(b.Mul(y, y), rows), false)
			grads, err := autodiff.Gradients(b, loss, []graph.Value{x}, o)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(5, 6))
			at, direction := make([]float32, 48), make([]float32, 48)
			for i := range at {
				at[i], direction[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
			}
			value := func(h float32, what graph.Value) []float32 {
				moved := make([]float32, 48)
				for i := range moved {
					moved[i] = at[i] + h*direction[i]
				}
				return evaluate(t, b, map[string]*graph.Tensor{"x": graph.OfFloats("", []int64{6, 8}, moved)}, 1, 1, what)[0]
			}
			const h = 1.0 / 128
			want := (float64(value(h, loss)[0]) - float64(value(-h, loss)[0])) / (2 * h)
			got := 0.0
			for i, g := range value(0, grads[0]) {
				got += float64(g) * float64(direction[i])
			}
			if math.Abs(got-want) > 2e-3*(1+math.Abs(want)) {
				t.Errorf("%s, %s: slope %g, finite differences %g", name, form, got, want)
			}
		}
	}
}
