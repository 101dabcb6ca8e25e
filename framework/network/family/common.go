package family

import "github.com/mdmhost/mdmhost/framework/network"

// common are the keys that configs of every family may have: those of Hugging Face's PretrainedConfig, in all its versions.
func common(d *draft) keys {
	const causal = "decoders do not see what follows a mask"
	return all(keys{
		"mask_token_id":               d.ids.take("mask", -1),
		"pad_token_id":                d.ids.take("pad", -1),
		"bos_token_id":                d.ids.take("bos", -1),
		"eos_token_id":                d.ids.take("eos", -1),
		"is_decoder":                  only(causal, false),
		"is_encoder_decoder":          only(causal, false),
		"add_cross_attention":         only("there is nothing to attend to", false),
		"tie_encoder_decoder":         only("there is no decoder", false),
		"pruned_heads":                only("layers with fewer heads have no rule; import the model before pruning", map[string]any{}),
		"quantization_config":         refuse("quantized weights have no rule; import the model that they were made of"),
		"per_layer_config":            refuse("layers that differ have no rule"),
		"cross_attention_hidden_size": refuse("there is nothing to attend to"),
	},
		moot("who wrote the file, and with what", "model_type", "architectures", "_name_or_path", "name_or_path", "_commit_hash", "auto_map", "transformers_version",
			"_diffusers_version", "license", "language"),
		moot("tensors say their type themselves", "dtype", "torch_dtype", "use_bfloat16"),
		moot("how the same numbers are computed", "use_cache", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset",
			"_attn_implementation_internal", "_experts_implementation", "_experts_implementation_internal", "chunk_size_feed_forward", "gradient_checkpointing",
			"use_flash_attention_2", "flash_attention", "use_sdpa", "output_past", "torchscript"),
		moot("what the Python class returns", "output_attentions", "output_hidden_states", "return_dict", "use_return_dict", "tie_last_hidden_states"),
		moot("heads for other tasks", "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task", "task_specific_params",
			"classifier_dropout", "classifier_dropout_prob", "summary_type", "summary_use_proj", "summary_activation", "summary_first_dropout", "pooler_fc_size",
			"pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type", "directionality", "sentence_transformers"),
		moot("training alone", "initializer_range", "initializer_cutoff_factor", "layer_norm_initializer"),
		moot("the tokenizer's", "tokenizer_class", "cls_token_id", "sep_token_id", "unk_token_id", "prefix", "decoder_start_token_id", "forced_bos_token_id",
			"forced_eos_token_id"),
		moot("settings of generation by other code, which moved to generation_config.json", "max_length", "max_new_tokens", "min_length", "do_sample",
			"early_stopping", "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty",
			"length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
			"return_dict_in_generate", "exponential_decay_length_penalty", "suppress_tokens", "begin_suppress_tokens", "remove_invalid_values"),
	)
}

// activations are those of plain feed-forward networks under Hugging Face's names.
var activations = map[string]string{
	"gelu": network.GELU, "gelu_python": network.GELU,
	"gelu_new": network.GELUTanh, "gelu_pytorch_tanh": network.GELUTanh, "gelu_fast": network.GELUTanh, "gelu_python_tanh": network.GELUTanh,
	"relu": network.ReLU, "silu": network.SiLU, "swish": network.SiLU, "relu2": network.ReLU2,
}

// gated are those of networks with a gate.
var gated = map[string]string{
	"gelu": network.GeGLU, "gelu_new": network.GeGLUTanh, "gelu_pytorch_tanh": network.GeGLUTanh, "gelu_fast": network.GeGLUTanh,
	"silu": network.SwiGLU, "swish": network.SwiGLU,
}
