package autodiff_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
)

// Broadcasts of any shapes are undone, with sizes known or not.
func TestBroadcast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		full := rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 5).Draw(t, "shape")
		operand := func(name string) []int64 {
			shape := append([]int64{}, full[rapid.IntRange(0, len(full)).Draw(t, name+" drops"):]...)
			for i := range shape {
				if rapid.Bool().Draw(t, name+" one") {
					shape[i] = 1
				}
			}
			return shape
		}
		shapes := [][]int64{operand("x"), operand("y"), full}
		b := graph.NewBuilder("broadcast", 20)
		feeds, in := map[string]*graph.Tensor{}, make([]graph.Value, 3)
		for i, s := range shapes {
			dims, n := make([]graph.Dim, len(s)), int64(1)
			for j, d := range s {
				dims[j] = graph.Known(d)
				n *= d
				if rapid.Bool().Draw(t, "unknown") {
					dims[j] = graph.Named(fmt.Sprintf("D%d%d", i, j))
				}
			}
			values := make([]float32, n)
			for j := range values {
				values[j] = float32(j*j%7 - 3 + i)
			}
			name := string("xyc"[i])
			in[i], feeds[name] = b.Input(name, graph.Float32, dims...), graph.OfFloats("", s, values)
		}
		loss := b.ReduceSum(b.Mul(b.Add(b.Sub(in[0], in[1]), in[2]), in[2]), false)
		grads, err := autodiff.Gradients(b, loss, in[:2], autodiff.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := evaluate(t, b, feeds, 1, 1, grads...)
		for i, sign := range []float32{1, -1} {
			want := summed(floats(feeds["c"].Raw), full, shapes[i], sign)
			if !slices.Equal(got[i], want) {
				t.Fatalf("operand %d %v of %v: got %v, want %v", i, shapes[i], full, got[i], want)
			}
		}
	})
}

// summed adds c, of shape full, up to the shape of an operand.
func summed(c []float32, full, shape []int64, sign float32) []float32 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	out := make([]float32, n)
	for i, v := range c {
		rest, at, stride := int64(i), int64(0), int64(1)
		for j := len(full) - 1; j >= 0; j-- {
			k := j - len(full) + len(shape)
			if k >= 0 {
				if shape[k] > 1 {
					at += rest % full[j] * stride
				}
				stride *= shape[k]
			}
			rest /= full[j]
		}
		out[at] += sign * v
	}
	return out
}
