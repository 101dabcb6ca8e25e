package family

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/network"
)

// bert is BertForMaskedLM (Devlin et al. 2019).
var bert = &family{
	keys:     func(d *draft) keys { return all(bertSizes(d, 30522), keys{"pad_token_id": d.ids.take("pad", 0)}) },
	tensors:  func(d *draft) []line { return slices.Concat(bertBody, bertHead) },
	prefixes: []string{"bert."},
	head:     "cls.predictions",
}

// bertSizes are the keys of BERT and of those that share its layers, with what they share.
func bertSizes(d *draft, vocabulary int) keys {
	c := &d.Config
	c.Norm, c.Positions, c.Bias = network.NormLayer, network.Learned, true
	c.PostNorm, c.EmbeddingNorm, c.HeadTransform, c.HeadBias = true, true, true, true
	return all(keys{
		"vocab_size":              to(&c.VocabSize, vocabulary),
		"hidden_size":             to(&c.HiddenSize, 768),
		"num_hidden_layers":       to(&c.Layers, 12),
		"num_attention_heads":     to(&c.Heads, 12),
		"intermediate_size":       to(&c.Intermediate, 3072),
		"max_position_embeddings": to(&c.MaxPositions, 512),
		"type_vocab_size":         to(&c.TypeVocab, 2),
		"layer_norm_eps":          to(&c.NormEps, 1e-12),
		"hidden_act":              word(&c.Activation, "gelu", activations),
		"tie_word_embeddings":     to(&c.Tied, true),
		"position_embedding_type": only("relative positions have no rule", "absolute"),
	}, moot("dropout is for training", "hidden_dropout_prob", "attention_probs_dropout_prob"))
}

const (
	noPooler = "the pooler, for classes of whole texts"
	noPairs  = "the head for pairs of sentences"
	buffer   = "buffers without parameters"
)

var bertBody = []line{
	{from: "embeddings.word_embeddings.weight", to: "embeddings.tokens"},
	{from: "embeddings.position_embeddings.weight", to: "embeddings.positions"},
	{from: "embeddings.token_type_embeddings.weight", to: "embeddings.types"},
	{from: "embeddings.LayerNorm", to: "embeddings.norm"},
	{from: "encoder.layer.*.attention.self.query", to: "layers.*.attention.q"},
	{from: "encoder.layer.*.attention.self.key", to: "layers.*.attention.k"},
	{from: "encoder.layer.*.attention.self.value", to: "layers.*.attention.v"},
	{from: "encoder.layer.*.attention.output.dense", to: "layers.*.attention.output"},
	{from: "encoder.layer.*.attention.output.LayerNorm", to: "layers.*.attention.norm"},
	{from: "encoder.layer.*.intermediate.dense", to: "layers.*.mlp.up"},
	{from: "encoder.layer.*.output.dense", to: "layers.*.mlp.down"},
	{from: "encoder.layer.*.output.LayerNorm", to: "layers.*.mlp.norm"},
	{from: "embeddings.position_ids", left: buffer},
	{from: "embeddings.token_type_ids", left: buffer},
	{from: "pooler.dense", left: noPooler},
}

var bertHead = []line{
	{from: "cls.predictions.transform.dense", to: "head.transform"},
	{from: "cls.predictions.transform.LayerNorm", to: "head.norm"},
	{from: "cls.predictions.decoder.weight", to: "head.weight"},
	{from: "cls.predictions.bias", to: "head.bias"},
	{from: "cls.predictions.decoder.bias", to: "head.bias", own: true},
	{from: "cls.seq_relationship", left: noPairs},
}
