package family

import "github.com/mdmhost/mdmhost/framework/network"

// dream is DreamModel (Ye et al. 2025): Qwen2's layers without the causal mask. It was made of a causal model, and what it computes at a
// position is still for the next one.
var dream = &family{
	keys: func(d *draft) keys {
		c, base := &d.Config, new(float64)
		d.more = base
		c.Norm, c.Positions, c.QKVBias, c.LogitsShift = network.NormRMS, network.RoPE, true, true
		return all(keys{
			"vocab_size":              to(&c.VocabSize, 151936),
			"hidden_size":             to(&c.HiddenSize, 4096),
			"intermediate_size":       to(&c.Intermediate, 22016),
			"num_hidden_layers":       to(&c.Layers, 32),
			"num_attention_heads":     to(&c.Heads, 32),
			"num_key_value_heads":     to(&c.KeyValueHeads, 32),
			"head_dim":                to(&c.HeadDim, 0),
			"max_position_embeddings": to(&c.MaxPositions, 32768),
			"rms_norm_eps":            to(&c.NormEps, 1e-6),
			"hidden_act":              word(&c.Activation, "silu", gated),
			"tie_word_embeddings":     to(&c.Tied, false),
			"rope_theta":              to(&c.RopeBase, 10000.0),
			"rope_parameters":         ropeBase(base),
			"rope_scaling":            refuse("scaled positions have no rule"),
			"use_sliding_window":      only("windows in the upper layers have no rule", false),
			"layer_types":             fullAttention,
			"attention_bias":          only("q, k and v have biases and the output none", false),
			"use_mrope":               only("positions in several dimensions have no rule", false),
			"mlp_bias":                only("biases of the feed-forward layers have no rule", false),
			"mask_token_id":           d.ids.take("mask", 151666),
			"pad_token_id":            d.ids.take("pad", 151643),
		},
			moot("of what use_sliding_window would do", "sliding_window", "max_window_layers"),
			moot("dropout is for training", "attention_dropout"),
			moot("settings of its generation", "mask_ratio", "alg", "alg_temp", "eps", "steps", "block_length", "output_history"))
	},
	settle: func(d *draft) problems {
		if base := *d.more.(*float64); base > 0 {
			d.RopeBase = base
		}
		if d.KeyValueHeads == d.Heads || d.null["num_key_value_heads"] {
			d.KeyValueHeads = 0
		}
		return nil
	},
	tensors:  func(*draft) []line { return dreamTensors },
	prefixes: []string{"model."},
	head:     "lm_head",
}

var dreamTensors = []line{
	{from: "embed_tokens.weight", to: "embeddings.tokens"},
	{from: "layers.*.input_layernorm", to: "layers.*.attention.norm"},
	{from: "layers.*.self_attn.q_proj", to: "layers.*.attention.q"},
	{from: "layers.*.self_attn.k_proj", to: "layers.*.attention.k"},
	{from: "layers.*.self_attn.v_proj", to: "layers.*.attention.v"},
	{from: "layers.*.self_attn.o_proj", to: "layers.*.attention.output"},
	{from: "layers.*.post_attention_layernorm", to: "layers.*.mlp.norm"},
	{from: "layers.*.mlp.gate_proj", to: "layers.*.mlp.gate"},
	{from: "layers.*.mlp.up_proj", to: "layers.*.mlp.up"},
	{from: "layers.*.mlp.down_proj", to: "layers.*.mlp.down"},
	{from: "norm", to: "norm"},
	{from: "lm_head.weight", to: "head.weight"},
	{from: "layers.*.self_attn.rotary_emb.inv_freq", left: buffer},
	{from: "rotary_emb.inv_freq", left: buffer},
}
