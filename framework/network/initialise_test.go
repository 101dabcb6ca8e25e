package network_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/network"
)

func TestParams(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 5, HiddenSize: 4, Layers: 1, Heads: 2, MaxPositions: 6, Bias: true, Positions: "learned"})
	var got []string
	for _, p := range network.Params(c) {
		got = append(got, fmt.Sprintf("%s %v %s %.3f %t", p.Name, p.Shape, p.Init.Kind, p.Init.Std, p.Decay))
	}
	want := []string{
		"embeddings.tokens [5 4] truncated 1.000 false",
		"embeddings.positions [6 4] truncated 1.000 false",
		"layers.0.attention.norm.weight [4] ones 0.000 false",
		"layers.0.attention.norm.bias [4] zeros 0.000 false",
		"layers.0.attention.q.weight [4 4] truncated 0.500 true",
		"layers.0.attention.q.bias [4] zeros 0.000 false",
		"layers.0.attention.k.weight [4 4] truncated 0.500 true",
		"layers.0.attention.k.bias [4] zeros 0.000 false",
		"layers.0.attention.v.weight [4 4] truncated 0.500 true",
		"layers.0.attention.v.bias [4] zeros 0.000 false",
		"layers.0.attention.output.weight [4 4] truncated 0.354 true",
		"layers.0.attention.output.bias [4] zeros 0.000 false",
		"layers.0.mlp.norm.weight [4] ones 0.000 false",
		"layers.0.mlp.norm.bias [4] zeros 0.000 false",
		"layers.0.mlp.up.weight [16 4] truncated 0.500 true",
		"layers.0.mlp.up.bias [16] zeros 0.000 false",
		"layers.0.mlp.down.weight [4 16] truncated 0.177 true",
		"layers.0.mlp.down.bias [4] zeros 0.000 false",
		"norm.weight [4] ones 0.000 false",
		"norm.bias [4] zeros 0.000 false",
		"head.weight [5 4] truncated 0.500 true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if n := network.ParamCount(c); n != 20+24+8+80+8+80+68+8+20 {
		t.Error(n)
	}
}

// The text8 network of MD4: its paper's sheet counts 88.7 million parameters with a 64 wide embedding and SwiGLU, time, no bias.
// Ours embeds at full width.
func TestCounts(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 27, HiddenSize: 768, Layers: 12, Heads: 12, MaxPositions: 256, Activation: "swiglu", Time: "adaln"})
	if n := network.ParamCount(c); n < 88e6 || n > 90e6 {
		t.Error(n)
	}
	small := valid(t, network.Config{VocabSize: 3, HiddenSize: 4, Layers: 1, Heads: 1, MaxPositions: 9})
	if got, want := network.FLOPs(small, 5), int64(5*(2*(4*16+2*4*16+4*3)+4*5*4)); got != want {
		t.Errorf("%d FLOPs, want %d", got, want)
	}
}

func TestInitialise(t *testing.T) {
	c := valid(t, network.Config{VocabSize: 200, HiddenSize: 128, Layers: 2, Heads: 4, MaxPositions: 9, Bias: true})
	values := network.Initialise(c, 7)
	for _, p := range network.Params(c) {
		v := values[p.Name]
		var sum, squares, most float64
		for _, x := range v {
			sum += float64(x)
			squares += float64(x) * float64(x)
			most = max(most, math.Abs(float64(x)))
		}
		n := float64(len(v))
		switch p.Init.Kind {
		case network.Zeros:
			if most != 0 {
				t.Error(p.Name, "is not zeros")
			}
		case network.Ones:
			if sum != n || squares != n {
				t.Error(p.Name, "is not ones")
			}
		default: // six standard errors: a false alarm is rarer than 1e-7 in all of them; the fourth moment is below that of a normal
			if mean := sum / n / p.Init.Std; math.Abs(mean) > 6/math.Sqrt(n) {
				t.Errorf("%s has mean %g of its standard deviation", p.Name, mean)
			}
			if s := math.Sqrt(squares/n) / p.Init.Std; math.Abs(s-1) > 6/math.Sqrt(2*n) {
				t.Errorf("%s has %g of its standard deviation", p.Name, s)
			}
			if most > 2/0.8796*p.Init.Std {
				t.Errorf("%s reaches %g, its standard deviation is %g", p.Name, most, p.Init.Std)
			}
		}
	}
	if slices.Equal(values["layers.0.attention.q.weight"], values["layers.0.attention.k.weight"]) {
		t.Error("q and k start equal")
	}
	other := c
	other.Layers, other.Positions, other.HeadInit = 1, "none", "zeros" // other parameters, another order
	for name, v := range network.Initialise(other, 7) {
		if name != "head.weight" && !strings.HasSuffix(name, "output.weight") && !strings.HasSuffix(name, "down.weight") && !slices.Equal(v, values[name]) {
			t.Error(name, "depends on other parameters")
		}
	}
	if slices.Equal(values["embeddings.tokens"], network.Initialise(c, 8)["embeddings.tokens"]) {
		t.Error("the seed does not matter")
	}
}

// The first numbers of a stream never change: runs are reproducible across versions.
func TestDrawIsPinned(t *testing.T) {
	p := network.Param{Name: "embeddings.tokens", Shape: []int64{3, 2}, Init: network.Init{Kind: network.Truncated, Std: 1}}
	near(t, "truncated", []float32{-0.007819333, -0.609425, 1.9097135, -0.027112434, 0.40562034, -0.70132357}, p.Draw(1), 1e-6)
	p.Init.Kind = network.Normal
	near(t, "normal", []float32{-0.0068780864, -3.380177, 1.6798329, -0.023848793, 0.35679406, -0.61690223}, p.Draw(1), 1e-6)
}

// An untied network with a head of zeros starts by giving every token the same chance.
func TestFirstLossIsUniform(t *testing.T) {
	for name, c := range several(t) {
		if c.Tied {
			continue
		}
		c.HeadInit = "zeros"
		for _, x := range logits(t, c, network.Initialise(c, 3), random(c, 1, 4)) {
			if x != 0 {
				t.Fatal(name, "gives a logit of", x)
			}
		}
	}
}
