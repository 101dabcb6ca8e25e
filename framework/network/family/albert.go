package family

// albert is AlbertForMaskedLM (Lan et al. 2020): BERT with narrow embeddings, and layers that share parameters.
var albert = &family{
	keys: func(d *draft) keys {
		c := &d.Config
		return all(bertSizes(d, 30000), keys{
			"hidden_size":         to(&c.HiddenSize, 4096),
			"num_attention_heads": to(&c.Heads, 64),
			"intermediate_size":   to(&c.Intermediate, 16384),
			"embedding_size":      to(&c.EmbeddingSize, 128),
			"num_hidden_groups":   to(&c.Groups, 1),
			"hidden_act":          word(&c.Activation, "gelu_new", activations),
			"inner_group_num":     only("groups of several layers have no rule", 1),
			"pad_token_id":        d.ids.take("pad", 0),
			"bos_token_id":        d.ids.take("bos", 2),
			"eos_token_id":        d.ids.take("eos", 3),
		}, moot("the Python code never read them", "down_scale_factor", "gap_size", "net_structure_type", "num_memory_blocks"))
	},
	tensors:  func(*draft) []line { return albertTensors },
	prefixes: []string{"albert."},
	head:     "predictions",
}

var albertTensors = []line{
	{from: "embeddings.word_embeddings.weight", to: "embeddings.tokens"},
	{from: "embeddings.position_embeddings.weight", to: "embeddings.positions"},
	{from: "embeddings.token_type_embeddings.weight", to: "embeddings.types"},
	{from: "embeddings.LayerNorm", to: "embeddings.norm"},
	{from: "encoder.embedding_hidden_mapping_in", to: "embeddings.projection"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.attention.query", to: "layers.*.attention.q"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.attention.key", to: "layers.*.attention.k"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.attention.value", to: "layers.*.attention.v"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.attention.dense", to: "layers.*.attention.output"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.attention.LayerNorm", to: "layers.*.attention.norm"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.ffn", to: "layers.*.mlp.up"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.ffn_output", to: "layers.*.mlp.down"},
	{from: "encoder.albert_layer_groups.*.albert_layers.0.full_layer_layer_norm", to: "layers.*.mlp.norm"},
	{from: "predictions.dense", to: "head.transform"},
	{from: "predictions.LayerNorm", to: "head.norm"},
	{from: "predictions.decoder.weight", to: "head.weight"},
	{from: "predictions.bias", to: "head.bias"},
	{from: "predictions.decoder.bias", to: "head.bias", own: true},
	{from: "embeddings.position_ids", left: buffer},
	{from: "embeddings.token_type_ids", left: buffer},
	{from: "pooler", left: noPooler},
	{from: "sop_classifier.classifier", left: noPairs},
}
