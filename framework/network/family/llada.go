package family

import "github.com/mdmhost/mdmhost/framework/network"

// llada is LLaDAModelLM (Nie et al. 2025): LLaMA's layers without the causal mask, in the words of OLMo's config.
var llada = &family{
	keys: func(d *draft) keys {
		c, m := &d.Config, &olmo{}
		d.more = m
		c.Norm, c.Positions = network.NormRMS, network.RoPE
		return all(keys{
			"d_model":                to(&c.HiddenSize, 768),
			"n_layers":               to(&c.Layers, 12),
			"n_heads":                to(&c.Heads, 12),
			"n_kv_heads":             to(&c.KeyValueHeads, 0),
			"mlp_hidden_size":        to(&c.Intermediate, 0),
			"mlp_ratio":              to(&m.ratio, 4),
			"vocab_size":             to(&m.vocabulary, 50257),
			"embedding_size":         to(&m.embeddings, 50304),
			"max_sequence_length":    to(&c.MaxPositions, 1024),
			"rope_theta":             to(&c.RopeBase, 10000.0),
			"rms_norm_eps":           to(&c.NormEps, 1e-5),
			"weight_tying":           to(&c.Tied, true),
			"include_bias":           to(&c.Bias, false),
			"include_qkv_bias":       to(&c.QKVBias, false),
			"bias_for_layer_norm":    m.normBias,
			"activation_type":        word(&c.Activation, "swiglu", map[string]string{"silu": network.SwiGLU, "gelu": network.GeGLU}),
			"block_type":             required("sequential", only("blocks of the other kinds fuse or order their layers otherwise and have no rule", "llama")),
			"block_group_size":       only("blocks in groups have no rule", 1),
			"layer_norm_type":        required("default", only("other norms have no rule", "rms")),
			"layer_norm_with_affine": only("norms without weights have no rule", true),
			"rope":                   required(false, only("positions without rotation have no rule", true)),
			"alibi":                  only("biases of attention by distance have no rule", false),
			"multi_query_attention":  m.multiQuery,
			"attention_layer_norm":   only("norms of queries and keys have no rule", false),
			"input_emb_norm":         only("embeddings times the root of their width have no rule", false),
			"scale_logits":           only("scaled logits have no rule", false),
			"use_scheduler_head":     only("the head for sizes of blocks has no rule", false),
			"rope_scaling":           refuse("scaled positions have no rule"),
			"mask_token_id":          d.ids.take("mask", 50256),
			"pad_token_id":           d.ids.take("pad", 50256),
			"eos_token_id":           d.ids.take("eos", 50256),
		},
			moot("dropout is for training", "attention_dropout", "residual_dropout", "embedding_dropout"),
			moot("training alone", "init_fn", "init_std", "init_cutoff_factor", "init_device", "precision"),
			moot("how the same numbers are computed", "rope_full_precision"),
			moot("of what attention_layer_norm and alibi would do", "attention_layer_norm_with_affine", "alibi_bias_max"),
			moot("weight_tying says it", "tie_word_embeddings"),
			keys{ // names of other keys here, which some writers add
				"hidden_size":         to(&m.size, 0),
				"num_hidden_layers":   to(&m.layers, 0),
				"num_attention_heads": to(&m.heads, 0),
			})
	},
	settle:   func(d *draft) problems { return d.more.(*olmo).settle(d) },
	tensors:  func(*draft) []line { return lladaTensors },
	prefixes: []string{"model."},
	head:     "transformer.ff_out",
}

// olmo is what LLaDA's config says otherwise than ours.
type olmo struct {
	ratio, vocabulary, embeddings int
	size, layers, heads           int   // once more; 0: not said
	norm                          *bool // biases of norms; nil: as include_bias
	one                           *bool // one head of keys and values
}

func (m *olmo) normBias(value any) error   { return maybe(&m.norm, value) }
func (m *olmo) multiQuery(value any) error { return maybe(&m.one, value) }

func maybe(field **bool, value any) error {
	if value == nil {
		return nil
	}
	*field = new(bool)
	return scan(value, *field)
}

func (m *olmo) settle(d *draft) (found problems) {
	c := &d.Config
	for _, twice := range []struct {
		key, other string
		a, b       int
	}{{"hidden_size", "d_model", m.size, c.HiddenSize}, {"num_hidden_layers", "n_layers", m.layers, c.Layers}, {"num_attention_heads", "n_heads", m.heads, c.Heads}} {
		if twice.a != 0 && twice.a != twice.b {
			found.add(twice.key, "is %d, and %s is %d; expected the same", twice.a, twice.other, twice.b)
		}
	}
	if c.VocabSize = m.embeddings; d.null["embedding_size"] {
		c.VocabSize = m.vocabulary
	}
	if c.VocabSize < m.vocabulary {
		found.add("embedding_size", "is %d, and vocab_size is %d; expected at least that", m.embeddings, m.vocabulary)
	}
	if c.Intermediate == 0 {
		c.Intermediate = m.ratio * c.HiddenSize
	}
	norm := c.Bias
	if m.norm != nil {
		norm = *m.norm
	}
	if norm {
		found.add("bias_for_layer_norm", "biases of RMS norms have no rule; they are there unless it, or include_bias, is false")
	}
	if c.Bias {
		c.QKVBias = false // they have them anyway
	}
	if m.one != nil {
		heads := c.Heads
		if *m.one {
			heads = 1
		}
		if c.KeyValueHeads != 0 && c.KeyValueHeads != heads {
			found.add("multi_query_attention", "is %v, and n_kv_heads is %d; remove one of them", *m.one, c.KeyValueHeads)
		}
		c.KeyValueHeads = heads
	}
	if c.KeyValueHeads == c.Heads {
		c.KeyValueHeads = 0
	}
	return found
}

var lladaTensors = []line{
	{from: "transformer.wte.weight", to: "embeddings.tokens"},
	{from: "transformer.blocks.*.attn_norm", to: "layers.*.attention.norm"},
	{from: "transformer.blocks.*.q_proj", to: "layers.*.attention.q"},
	{from: "transformer.blocks.*.k_proj", to: "layers.*.attention.k"},
	{from: "transformer.blocks.*.v_proj", to: "layers.*.attention.v"},
	{from: "transformer.blocks.*.attn_out", to: "layers.*.attention.output"},
	{from: "transformer.blocks.*.ff_norm", to: "layers.*.mlp.norm"},
	{from: "transformer.blocks.*.ff_proj", to: "layers.*.mlp.gate"},
	{from: "transformer.blocks.*.up_proj", to: "layers.*.mlp.up"},
	{from: "transformer.blocks.*.ff_out", to: "layers.*.mlp.down"},
	{from: "transformer.ln_f", to: "norm"},
	{from: "transformer.ff_out", to: "head"},
	{from: "transformer.blocks.*.rotary_emb.inv_freq", left: buffer},
}
