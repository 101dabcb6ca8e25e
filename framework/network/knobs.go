package network

import "math"

// HeadSize is the width of one attention head.
func (c Config) HeadSize() int {
	if c.HeadDim > 0 {
		return c.HeadDim
	}
	return c.HiddenSize / c.Heads
}

// KeyHeads is the number of heads of keys and values.
func (c Config) KeyHeads() int {
	if c.KeyValueHeads > 0 {
		return c.KeyValueHeads
	}
	return c.Heads
}

// EmbeddingWidth is the width E of the embeddings.
func (c Config) EmbeddingWidth() int {
	if c.EmbeddingSize > 0 {
		return c.EmbeddingSize
	}
	return c.HiddenSize
}

// LayerSets is the number of layers that have parameters of their own.
func (c Config) LayerSets() int {
	if c.Groups > 0 {
		return c.Groups
	}
	return c.Layers
}

// LayerSet is the number in the names of the parameters that layer i has.
func (c Config) LayerSet(i int) int { return i * c.LayerSets() / c.Layers }

// Local tells whether the attention of layer i sees a window only.
func (c Config) Local(i int) bool { return c.LocalAttention > 0 && i%c.GlobalEvery != 0 }

// LayerRopeBase is the base of the rotary positions of layer i.
func (c Config) LayerRopeBase(i int) float64 {
	if c.Local(i) && c.LocalRopeBase > 0 {
		return c.LocalRopeBase
	}
	return c.RopeBase
}

// Gated tells whether the feed-forward network has a gate: mlp.gate, which goes through the activation and multiplies mlp.up.
func (c Config) Gated() bool {
	return c.Activation == SwiGLU || c.Activation == GeGLU || c.Activation == GeGLUTanh
}

// PlainActivation is the activation without its gate: that of head_transform.
func (c Config) PlainActivation() string {
	switch c.Activation {
	case SwiGLU:
		return SiLU
	case GeGLU:
		return GELU
	case GeGLUTanh:
		return GELUTanh
	}
	return c.Activation
}

// validateKnobs checks what pretrained networks have, and which of it goes together.
func (c Config) validateKnobs(problems *Problems) {
	report := problems.report
	for _, n := range []struct {
		key   string
		value int
	}{{"embedding_size", c.EmbeddingSize}, {"type_vocab_size", c.TypeVocab}, {"num_hidden_groups", c.Groups}, {"num_key_value_heads", c.KeyValueHeads},
		{"head_dim", c.HeadDim}, {"local_attention", c.LocalAttention}, {"global_attn_every_n_layers", c.GlobalEvery}} {
		if n.value < 0 || n.value > maxSize {
			report(n.key, "is %d, expected 1 to %d, or 0 for none of its own", n.value, maxSize)
		}
	}
	if c.Timed() {
		for _, k := range []struct {
			key string
			set bool
		}{{"post_norm", c.PostNorm}, {"skip_first_norm", c.SkipFirstNorm}, {"embedding_norm", c.EmbeddingNorm}, {"head_transform", c.HeadTransform}} {
			if k.set {
				report(k.key, "is true, and the norms of time %s take scale and shift from the time; set time to %s, or leave it out", AdaLN, NoTime)
			}
		}
	}
	switch {
	case c.SkipFirstNorm && c.PostNorm:
		report("skip_first_norm", "is true, and with post_norm no norm stands before the attention; leave one of them out")
	case c.SkipFirstNorm && c.Groups > 0:
		report("skip_first_norm", "is true, and with num_hidden_groups layer 0 has the norms of others; leave one of them out")
	}
	if c.Groups > 0 && c.Layers > 0 && c.Groups > c.Layers {
		report("num_hidden_groups", "is %d, expected at most the %d layers", c.Groups, c.Layers)
	}
	if c.KeyValueHeads > 0 && c.Heads > 0 && c.Heads%c.KeyValueHeads != 0 {
		report("num_key_value_heads", "%d heads of keys do not divide the %d of queries; choose a divisor", c.KeyValueHeads, c.Heads)
	}
	if c.HeadDim > 0 && c.HeadDim <= maxSize && c.Heads > 0 && c.Heads <= maxSize && c.Heads*c.HeadDim > maxSize {
		report("head_dim", "is %d, and %d heads are %d wide together, expected at most %d", c.HeadDim, c.Heads, c.Heads*c.HeadDim, maxSize)
	}
	if c.QKVBias && c.Bias {
		report("qkv_bias", "is true, and so is bias, which holds for q, k and v, too; leave it out")
	}
	c.validateLocal(problems)
	if c.Head != HeadTokens {
		for _, k := range []struct {
			key string
			set bool
		}{{"head_transform", c.HeadTransform}, {"head_bias", c.HeadBias}, {"logits_shift", c.LogitsShift}} {
			if k.set {
				report(k.key, "is true, and head %s gives no logits of tokens; leave it out", c.Head)
			}
		}
	}
	if c.LogitsShift && c.Rates() {
		report("logits_shift", "is true, and the rates of an insertion model are those of their own positions; leave it out")
	}
	if c.Tied && c.EmbeddingSize > 0 && c.EmbeddingSize != c.HiddenSize && !c.HeadTransform {
		report("tie_word_embeddings", "is true, and the embeddings are %d wide, the hidden state %d; set head_transform, or set it to false", c.EmbeddingSize, c.HiddenSize)
	}
}

// validateLocal checks the window of attention.
func (c Config) validateLocal(problems *Problems) {
	report := problems.report
	if c.LocalAttention == 0 {
		if c.GlobalEvery != 0 {
			report("global_attn_every_n_layers", "is %d, and without local_attention every layer is global; give local_attention, or leave it out", c.GlobalEvery)
		}
		if c.LocalRopeBase != 0 {
			report("local_rope_base", "is %g, and without local_attention no layer is local; give local_attention, or leave it out", c.LocalRopeBase)
		}
		return
	}
	if c.GlobalEvery == 0 {
		report("global_attn_every_n_layers", "is missing; expected the distance of layers that see everything, such as 3, with local_attention")
	}
	if !c.placed() {
		report("local_attention", "is %d, and positions is %q; choose positions for a window of positions", c.LocalAttention, c.Positions)
	}
	switch {
	case c.LocalRopeBase != 0 && c.Positions != RoPE:
		report("local_rope_base", "is %g, and positions is %q; leave it out", c.LocalRopeBase, c.Positions)
	case c.LocalRopeBase != 0 && !(c.LocalRopeBase > 1 && c.LocalRopeBase < math.Inf(1)):
		report("local_rope_base", "is %g, expected a number above 1", c.LocalRopeBase)
	}
}
