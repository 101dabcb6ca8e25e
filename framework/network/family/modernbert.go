package family

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/network"
)

// modernbert is ModernBertForMaskedLM (Warner et al. 2024): rotary positions, gates, and windows of attention in most layers.
var modernbert = &family{
	keys: func(d *draft) keys {
		c, m := &d.Config, &modern{}
		d.more = m
		c.Norm, c.Positions = network.NormLayer, network.RoPE
		c.SkipFirstNorm, c.EmbeddingNorm, c.HeadTransform = true, true, true
		return all(keys{
			"vocab_size":                 to(&c.VocabSize, 50368),
			"hidden_size":                to(&c.HiddenSize, 768),
			"num_hidden_layers":          to(&c.Layers, 22),
			"num_attention_heads":        to(&c.Heads, 12),
			"intermediate_size":          to(&c.Intermediate, 1152),
			"max_position_embeddings":    to(&c.MaxPositions, 8192),
			"norm_eps":                   to(&c.NormEps, 1e-5),
			"hidden_activation":          word(&c.Activation, "gelu", gated),
			"classifier_activation":      word(&m.activation, "gelu", activations), // of the head for tokens, too
			"tie_word_embeddings":        to(&c.Tied, true),
			"decoder_bias":               to(&c.HeadBias, true),
			"attention_bias":             to(&c.Bias, false),
			"norm_bias":                  to(&m.norm, false),
			"mlp_bias":                   to(&m.mlp, false),
			"classifier_bias":            to(&m.head, false),
			"local_attention":            to(&c.LocalAttention, 128),
			"global_attn_every_n_layers": to(&c.GlobalEvery, 3),
			"layer_types":                m.layerTypes,
			"rope_parameters":            m.ropeParameters,
			"global_rope_theta":          to(&c.RopeBase, 160000.0),
			"local_rope_theta":           to(&c.LocalRopeBase, 10000.0),
			"rope_scaling":               refuse("scaled positions have no rule"),
			"pad_token_id":               d.ids.take("pad", 50283),
			"bos_token_id":               d.ids.take("bos", 50281),
			"eos_token_id":               d.ids.take("eos", 50282),
		},
			moot("dropout is for training", "attention_dropout", "embedding_dropout", "mlp_dropout"),
			moot("how the same numbers are computed", "reference_compile", "deterministic_flash_attn", "repad_logits_with_grad", "sparse_prediction", "sparse_pred_ignore_index"),
			moot("heads for other tasks", "classifier_pooling"),
			moot("left over from BERT's config, and not read", "position_embedding_type", "layer_norm_eps"))
	},
	settle:   func(d *draft) problems { return d.more.(*modern).settle(d) },
	tensors:  func(*draft) []line { return modernbertTensors },
	prefixes: []string{"model."},
	head:     "head and decoder",
}

// modern is what ModernBERT's config says otherwise than ours.
type modern struct {
	activation      string
	norm, mlp, head bool
	types           []string // of layers: "full_attention" or "sliding_attention"
	full, sliding   float64  // bases of positions by the newer keys, or 0
}

func (m *modern) layerTypes(value any) error {
	list, ok := value.([]any)
	if value != nil && !ok {
		return fmt.Errorf("is %s, expected a list", show(value))
	}
	for _, v := range list {
		t, ok := v.(string)
		if !ok || t != "full_attention" && t != "sliding_attention" {
			return fmt.Errorf("has %s, expected \"full_attention\" or \"sliding_attention\"", show(v))
		}
		m.types = append(m.types, t)
	}
	return nil
}

func (m *modern) ropeParameters(value any) error {
	if value == nil {
		return nil
	}
	by, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("is %s, expected an object", show(value))
	}
	for name, base := range map[string]*float64{"full_attention": &m.full, "sliding_attention": &m.sliding} {
		if err := ropeBase(base)(by[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		delete(by, name)
	}
	if len(by) > 0 {
		return fmt.Errorf("has %s besides full_attention and sliding_attention, which has no rule", show(by))
	}
	return nil
}

func (m *modern) settle(d *draft) (found problems) {
	c := &d.Config
	if d.null["local_rope_theta"] {
		c.LocalRopeBase = 0 // the same as in the other layers
	}
	for key, b := range map[string]bool{"norm_bias": m.norm, "mlp_bias": m.mlp, "classifier_bias": m.head} {
		if b != c.Bias {
			found.add(key, "is %v and attention_bias %v; biases of some layers alone have no rule", b, c.Bias)
		}
	}
	if m.activation != c.PlainActivation() {
		found.add("classifier_activation", "is %q and hidden_activation %q; a head with another activation has no rule", m.activation, c.PlainActivation())
	}
	if m.full > 0 {
		c.RopeBase = m.full
	}
	if m.sliding > 0 {
		c.LocalRopeBase = m.sliding
	}
	if m.types != nil {
		found = append(found, m.everyLayers(c)...)
	}
	if c.GlobalEvery < 1 {
		found.add("global_attn_every_n_layers", "is %d, expected a number from 1", c.GlobalEvery)
	}
	if c.LocalAttention < 1 {
		found.add("local_attention", "is %d, expected a number from 1", c.LocalAttention)
	}
	if c.GlobalEvery == 1 { // no layer is local
		c.LocalAttention, c.GlobalEvery, c.LocalRopeBase = 0, 0, 0
	}
	return found
}

// everyLayers finds the number of layers from one that sees everything to the next in the list of them.
func (m *modern) everyLayers(c *network.Config) (found problems) {
	if len(m.types) != c.Layers {
		found.add("layer_types", "has %d entries, expected %d, one for each of num_hidden_layers", len(m.types), c.Layers)
		return found
	}
	c.GlobalEvery = len(m.types)
	for i, t := range m.types {
		if i > 0 && t == "full_attention" {
			c.GlobalEvery = i
			break
		}
	}
	for i, t := range m.types {
		if (t == "full_attention") != (i%c.GlobalEvery == 0) {
			found.add("layer_types", "has %q at %d; expected \"full_attention\" in the first layer and then at one distance, other orders have no rule", t, i)
			break
		}
	}
	return found
}

var modernbertTensors = []line{
	{from: "embeddings.tok_embeddings.weight", to: "embeddings.tokens"},
	{from: "embeddings.norm", to: "embeddings.norm"},
	{from: "layers.*.attn_norm", to: "layers.*.attention.norm"},
	{from: "layers.*.attn.Wqkv", to: "layers.*.attention.q + layers.*.attention.k + layers.*.attention.v"},
	{from: "layers.*.attn.Wo", to: "layers.*.attention.output"},
	{from: "layers.*.mlp_norm", to: "layers.*.mlp.norm"},
	{from: "layers.*.mlp.Wi", to: "layers.*.mlp.gate + layers.*.mlp.up"},
	{from: "layers.*.mlp.Wo", to: "layers.*.mlp.down"},
	{from: "final_norm", to: "norm"},
	{from: "head.dense", to: "head.transform"},
	{from: "head.norm", to: "head.norm"},
	{from: "decoder.weight", to: "head.weight"},
	{from: "decoder.bias", to: "head.bias"},
	{from: "layers.*.attn.rotary_emb.inv_freq", left: buffer},
	{from: "rotary_emb.inv_freq", left: buffer},
}
