package network_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
)

// several are networks that differ in everything that rows or padding could leak through.
func several(t testing.TB) map[string]network.Config {
	base := network.Config{VocabSize: 13, HiddenSize: 32, Layers: 2, Heads: 4, MaxPositions: 16, Bias: true}
	change := func(f func(*network.Config)) network.Config {
		c := base
		f(&c)
		return valid(t, c)
	}
	return map[string]network.Config{
		"rope":    change(func(*network.Config) {}),
		"learned": change(func(c *network.Config) { c.Positions, c.Norm, c.Activation = "learned", "rms", "swiglu" }),
		"grid": change(func(c *network.Config) {
			c.Positions, c.Grid, c.Tied = "grid", &network.GridSpec{Rows: 4, Cols: 4}, true
		}),
		"none":  change(func(c *network.Config) { c.Positions, c.Activation = "none", "relu2" }),
		"timed": change(func(c *network.Config) { c.Time = "adaln" }),
	}
}

// random draws ids, and times where the network takes them.
func random(c network.Config, b, l int) rows {
	rng := rand.New(rand.NewPCG(uint64(b), uint64(l)))
	r := rows{b: b, l: l}
	for range b * l {
		r.ids = append(r.ids, rng.Int64N(int64(c.VocabSize)))
	}
	if c.Timed() {
		for range b {
			r.times = append(r.times, rng.Float32())
		}
	}
	return r
}

// row is one row of the batch, cut to l positions.
func (r rows) row(i, l int) rows {
	out := rows{b: 1, l: l, ids: r.ids[i*r.l : i*r.l+l]}
	if r.mask != nil {
		out.mask = r.mask[i*r.l : i*r.l+l]
	}
	if r.times != nil {
		out.times = r.times[i : i+1]
	}
	return out
}

func TestRowsAndPaddingDoNotLeak(t *testing.T) {
	for name, c := range several(t) {
		t.Run(name, func(t *testing.T) {
			values, v := formula(c), c.VocabSize
			const b, l, short = 3, 12, 7
			r := random(c, b, l)
			r.mask = slices.Repeat([]int64{1}, b*l)
			for i := l + short; i < 2*l; i++ { // row 1 is padded
				r.mask[i] = 0
			}
			got := logits(t, c, values, r)
			for i := range b {
				n := l
				if i == 1 {
					n = short
				}
				alone := r.row(i, n)
				near(t, "a row alone", got[i*l*v:(i*l+n)*v], logits(t, c, values, alone), 2e-6)
				alone.mask = nil
				near(t, "a row alone, without a mask", got[i*l*v:(i*l+n)*v], logits(t, c, values, alone), 2e-6)
			}
			for i := l + short; i < 2*l; i++ { // whatever stands in the padding
				r.ids[i] = (r.ids[i] + 5) % int64(v)
			}
			again := logits(t, c, values, r)
			near(t, "other padding", got[l*v:(l+short)*v], again[l*v:(l+short)*v], 0)
		})
	}
}

func TestRowOfPaddingIsFinite(t *testing.T) {
	for name, c := range several(t) {
		r := random(c, 2, 5)
		r.mask = slices.Repeat([]int64{0}, 10)
		for i, x := range logits(t, c, formula(c), r) {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				t.Fatalf("%s: logit %d is %g", name, i, x)
			}
		}
	}
}

func TestPositionsCountFromZero(t *testing.T) {
	for name, c := range several(t) {
		if name == "none" {
			continue
		}
		r := random(c, 2, 6)
		first := logits(t, c, formula(c), r)
		r.at = []int64{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}
		near(t, name, first, logits(t, c, formula(c), r), 2e-6)
		r.at = []int64{0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0}
		other := logits(t, c, formula(c), r)
		if slices.Equal(first[len(first)/2:], other[len(first)/2:]) {
			t.Error(name, "does not look at position_ids")
		}
	}
}

// A network may be called more than once in one graph, with the same parameters.
func TestTwoCallsInOneGraph(t *testing.T) {
	c := several(t)["rope"]
	b := graph.NewBuilder("twice", 20)
	params := map[string]graph.Value{}
	values := formula(c)
	for _, p := range network.Params(c) {
		params[p.Name] = b.Initializer(graph.OfFloats(p.Name, p.Shape, values[p.Name]))
	}
	ids := b.Input("input_ids", graph.Int64, graph.Dims("B", "L")...)
	one := network.Build(b, c, params, map[string]graph.Value{"input_ids": ids})["logits"]
	mirrored := b.Sub(b.Int(12), ids)
	two := network.Build(b, c, params, map[string]graph.Value{"input_ids": mirrored})["logits"]
	m, err := b.Model(graph.Output{Name: "logits", Value: b.Add(one, two)})
	if err != nil {
		t.Fatal(err)
	}
	r := random(c, 2, 6)
	got := run(t, m, r, map[string][]int64{"input_ids": r.ids}, nil)
	want := logits(t, c, values, r)
	for i := range r.ids {
		r.ids[i] = 12 - r.ids[i]
	}
	for i, x := range logits(t, c, values, r) {
		want[i] += x
	}
	near(t, "sum", want, got, 5e-6)
}

func TestMistakesOfACall(t *testing.T) {
	for name, test := range map[string]struct {
		change func(b *graph.Builder, params, inputs map[string]graph.Value)
		want   string
	}{
		"no ids":  {func(_ *graph.Builder, _, in map[string]graph.Value) { delete(in, "input_ids") }, "input_ids is missing"},
		"no time": {func(_ *graph.Builder, _, in map[string]graph.Value) { delete(in, "timesteps") }, "timesteps is missing"},
		"a stray": {func(b *graph.Builder, _, in map[string]graph.Value) { in["time"] = in["timesteps"] }, `no input "time"; it takes attention_bias, attention_mask, input_ids, position_ids, timesteps`},
		"too long": {func(b *graph.Builder, _, in map[string]graph.Value) {
			in["input_ids"] = b.Input("long", graph.Int64, graph.Dims("B", 17)...)
		}, "rows have 17 positions; expected at most max_position_embeddings 16"},
		"floats": {func(b *graph.Builder, _, in map[string]graph.Value) {
			in["input_ids"] = b.Input("f", graph.Float32, graph.Dims("B", "L")...)
		}, "input input_ids is f float32[B, L]; expected int64 with 2 dimensions"},
		"no param":  {func(_ *graph.Builder, p, _ map[string]graph.Value) { delete(p, "head.weight") }, `parameter "head.weight" is missing`},
		"misshapen": {func(b *graph.Builder, p, _ map[string]graph.Value) { p["head.weight"] = p["time.up.bias"] }, "expected float32 [13 32]"},
	} {
		t.Run(name, func(t *testing.T) {
			c := several(t)["timed"]
			b := graph.NewBuilder("test", 20)
			params := map[string]graph.Value{}
			for _, p := range network.Params(c) {
				params[p.Name] = b.Initializer(graph.OfFloats(p.Name, p.Shape, p.Draw(0)))
			}
			inputs := map[string]graph.Value{}
			for _, p := range network.Signature(c).Inputs {
				inputs[p.Name] = b.Input(p.Name, p.Type, p.Shape...)
			}
			test.change(b, params, inputs)
			network.Build(b, c, params, inputs)
			mustSay(t, b.Err(), test.want)
		})
	}
}
