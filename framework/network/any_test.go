package network_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
)

// anyConfig draws a small network of any kind; some are refused still.
func anyConfig(t *rapid.T) network.Config {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	number := func(name string, of ...int) int { return rapid.SampledFrom(of).Draw(t, name) }
	word := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	c := network.Config{VocabSize: 7, HiddenSize: 8, Layers: number("layers", 1, 2, 4), Heads: number("heads", 1, 2, 4), Intermediate: 6, MaxPositions: 9,
		Norm: word("norm", "layer", "rms"), Activation: word("activation", "gelu", "gelu_tanh", "geglu", "geglu_tanh", "swiglu", "silu", "relu", "relu2"),
		Positions: word("positions", "rope", "learned", "none"), Bias: flag("bias"), Tied: flag("tied"), Time: word("time", "none", "none", "adaln"), Gaps: word("gaps", "", "", "eos"),
		PostNorm: flag("post_norm"), SkipFirstNorm: flag("skip_first_norm"), EmbeddingNorm: flag("embedding_norm"), EmbeddingSize: number("embedding_size", 0, 0, 6, 8),
		TypeVocab: number("type_vocab_size", 0, 2), Groups: number("groups", 0, 0, 1, 2), KeyValueHeads: number("kv", 0, 1, 2), HeadDim: number("head_dim", 0, 0, 6), QKVBias: flag("qkv_bias"),
		LocalAttention: number("local", 0, 4), GlobalEvery: number("every", 0, 1, 2), LocalRopeBase: float64(number("base", 0, 100)),
		HeadTransform: flag("head_transform"), HeadBias: flag("head_bias"), LogitsShift: flag("logits_shift")}
	if c.Positions == "none" || c.GlobalEvery == 0 {
		c.LocalAttention = 0
	}
	if c.LocalAttention == 0 {
		c.GlobalEvery = 0
	}
	if c.LocalAttention == 0 || c.Positions != "rope" {
		c.LocalRopeBase = 0
	}
	if c.Time == "adaln" {
		c.PostNorm, c.SkipFirstNorm, c.EmbeddingNorm, c.HeadTransform = false, false, false, false
	}
	c.SkipFirstNorm = c.SkipFirstNorm && !c.PostNorm && c.Groups == 0
	c.QKVBias = c.QKVBias && !c.Bias
	c.LogitsShift = c.LogitsShift && c.Gaps == ""
	return c.Filled()
}

// Whatever a config may say, the network is written, reads every parameter that it has, and gives finite logits.
func TestAnyNetwork(t *testing.T) {
	written := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := anyConfig(rt)
		if c.Validate() != nil {
			return
		}
		written++
		o := network.ExportOptions{Opset: rapid.SampledFrom([]int64{17, 20, 23}).Draw(rt, "opset"), Bias: !c.LogitsShift}
		m, err := network.Export(c, network.Initialise(c, 1), o)
		if err != nil {
			rt.Fatal(err)
		}
		if err := graph.Check(m); err != nil {
			rt.Fatal(err)
		}
		read := map[string]bool{}
		for _, n := range m.Graph.Nodes {
			for _, in := range n.Inputs {
				read[in] = true
			}
		}
		for _, p := range network.Params(c) {
			if !read[p.Name] {
				rt.Errorf("%s is not read", p.Name)
			}
		}
		if written%16 != 0 || c.Timed() || c.Rates() {
			return
		}
		r := random(c, 2, 5)
		for _, x := range logits(t, c, network.Initialise(c, 1), r) {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				rt.Fatal("a logit is ", x)
			}
		}
	})
	if written < 20 {
		t.Errorf("%d configs were valid, want most of them", written)
	}
}
