package family_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// A config.json that leaves everything out is one that says what the family's own class takes then (testdata/defaults.py), and
// every key that the class writes is known.
func TestDefaults(t *testing.T) {
	text, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, said := range all {
		want, err := family.Parse(name, said)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := family.Parse(name, fmt.Appendf(nil, `{"model_type": %q}`, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want.Config, got.Config); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if len(all) != 6 {
		t.Errorf("%d families have defaults of their own classes, expected 6", len(all))
	}
}

// llada is the least that a LLaDA says.
func llada(more string) string {
	return `{"model_type": "llada", "rope": true, "block_type": "llama", "layer_norm_type": "rms", "activation_type": "silu", "vocab_size": 50257` + more + `}`
}

func TestConfigs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]any // fields of the config
	}{
		"llada":           {llada(""), map[string]any{"vocab_size": 50304.0, "intermediate_size": 3072.0, "layer_norm_eps": 1e-5, "tie_word_embeddings": true, "activation": "swiglu", "bias": false}},
		"llada no rows":   {llada(`, "embedding_size": null`), map[string]any{"vocab_size": 50257.0}},
		"llada one head":  {llada(`, "multi_query_attention": true`), map[string]any{"num_key_value_heads": 1.0}},
		"llada same":      {llada(`, "n_kv_heads": 12`), map[string]any{"num_key_value_heads": nil}},
		"llada bias":      {llada(`, "include_bias": true, "include_qkv_bias": true, "bias_for_layer_norm": false`), map[string]any{"bias": true, "qkv_bias": nil}},
		"llada gelu":      {llada(`, "activation_type": "gelu"`), map[string]any{"activation": "geglu"}},
		"dream":           {`{"model_type": "Dream"}`, map[string]any{"logits_shift": true, "qkv_bias": true, "rope_base": 10000.0, "vocab_size": 151936.0, "layer_norm_eps": 1e-6, "num_key_value_heads": nil}},
		"dream new rope":  {`{"model_type": "dream", "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}, "num_key_value_heads": 4}`, map[string]any{"rope_base": 1e6, "num_key_value_heads": 4.0}},
		"modern old":      {`{"model_type": "modernbert", "global_rope_theta": 5000.0, "local_rope_theta": null, "global_attn_every_n_layers": 2}`, map[string]any{"rope_base": 5000.0, "local_rope_base": nil, "global_attn_every_n_layers": 2.0, "skip_first_norm": true}},
		"modern global":   {`{"model_type": "modernbert", "num_hidden_layers": 2, "layer_types": ["full_attention", "full_attention"]}`, map[string]any{"local_attention": nil, "global_attn_every_n_layers": nil}},
		"roberta":         {`{"model_type": "roberta", "max_position_embeddings": 514}`, map[string]any{"max_position_embeddings": 512.0, "post_norm": true}},
		"roberta pad":     {`{"model_type": "camembert", "max_position_embeddings": 514, "pad_token_id": 5}`, map[string]any{"max_position_embeddings": 508.0}},
		"albert":          {`{"model_type": "albert"}`, map[string]any{"activation": "gelu_tanh", "embedding_size": 128.0, "num_hidden_groups": 1.0, "vocab_size": 30000.0}},
		"bert of 2019":    {`{"hidden_size": 256, "intermediate_size": 512, "max_position_embeddings": 512, "num_attention_heads": 4, "type_vocab_size": 2, "output_past": true, "pruned_heads": {}}`, map[string]any{"hidden_size": 256.0}},
		"by its class":    {`{"architectures": ["RobertaForMaskedLM"]}`, map[string]any{"vocab_size": 50265.0}},
		"lists, and null": {`{"model_type": "bert", "eos_token_id": [7, 8], "bos_token_id": null, "pruned_heads": null, "hidden_act": "relu"}`, map[string]any{"activation": "relu"}},
	} {
		r, err := family.Parse("f", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := json.Marshal(r.Config)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		for key, want := range c.want {
			if got[key] != want {
				t.Errorf("%s: %s is %v, expected %v", name, key, got[key], want)
			}
		}
	}
	r, err := family.Parse("f", []byte(`{"architectures": ["RobertaForMaskedLM"]}`))
	if err != nil || len(r.Notes) != 1 || r.Notes[0] != "f has no model_type: by its other keys it is of roberta" {
		t.Errorf("%v, %v", r, err)
	}
	r, err = family.Parse("f", []byte(`{"model_type": "bert", "eos_token_id": [7, 8], "mask_token_id": 3, "pad_token_id": -1}`))
	if err != nil || r.Special != (network.Special{Mask: 3, Pad: -1, BOS: -1, EOS: 7}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefusedConfigs(t *testing.T) {
	for text, want := range map[string]string{
		``:                         "expected a JSON object",
		`null`:                     "is null, expected a JSON object",
		`[]`:                       "expected a JSON object",
		`{"model_type": "bert"}}`:  "has text behind its JSON object",
		`{}`:                       "has no model_type; add the one of albert, bert, camembert, dream, llada, mdm-transformer, modernbert, roberta, xlm-roberta",
		`{"model_type": ["bert"]}`: `model_type: is ["bert"], expected a string`,
		`{"model_type": "qwen2"}`:  `model_type "qwen2" is a causal model`,
		`{"model_type": "bert", "position_embedding_type": "relative_key"}`:   `position_embedding_type: is "relative_key", expected "absolute": relative positions have no rule`,
		`{"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}`: "num_attention_heads: 3 heads do not divide hidden_size 10",
		`{"model_type": "bert", "mask_token_id": 30522}`:                      "mask_token_id: is 30522, and vocab_size is 30522; expected an id below it",
		`{"model_type": "bert", "vocab_size": 1.5}`:                           "vocab_size: is 1.5, expected an integer",
		`{"model_type": "bert", "layer_norm_eps": "small"}`:                   `layer_norm_eps: is "small", expected a number`,
		`{"model_type": "albert", "inner_group_num": 2}`:                      "inner_group_num: is 2, expected 1: groups of several layers have no rule",
		`{"model_type": "bert", "layer_norm_eps": 0}`:                         "layer_norm_eps: is 0, expected a number above 0",
		`{"model_type": "dream", "rope_parameters": {"rope_theta": 0}}`:       "rope_theta: is 0, expected a number above 0",
		llada(`, "hidden_size": 64`):                                          "hidden_size: is 64, and d_model is 768; expected the same",
		`{"model_type": "xlm-roberta", "hidden_act": "silu"}`:                 "hidden_act: is for the layers alone, silu, and the head of the class computes gelu",
		`{"model_type": "roberta", "max_position_embeddings": 2}`:             "max_position_embeddings: is 2, of which pad_token_id 1 leaves none",
		`{"model_type": "modernbert", "norm_bias": true}`:                     "norm_bias: is true and attention_bias false; biases of some layers alone have no rule",
		`{"model_type": "modernbert", "num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "full_attention"]}`: `layer_types: has "sliding_attention" at 0`,
		`{"model_type": "modernbert", "rope_parameters": {"full_attention": {"rope_type": "yarn"}}}`:                                     `rope_type is "yarn", expected "default"`,
		`{"model_type": "llada"}`:                                   `block_type: is "sequential", expected "llama"`,
		llada(`, "include_bias": true`):                             "bias_for_layer_norm: biases of RMS norms have no rule",
		llada(`, "attention_layer_norm": true`):                     "norms of queries and keys have no rule",
		llada(`, "n_kv_heads": 3, "multi_query_attention": true`):   "multi_query_attention: is true, and n_kv_heads is 3; remove one of them",
		llada(`, "embedding_size": 100`):                            "embedding_size: is 100, and vocab_size is 50257; expected at least that",
		`{"model_type": "Dream", "use_sliding_window": true}`:       "windows in the upper layers have no rule",
		`{"model_type": "Dream", "rope_scaling": {"type": "yarn"}}`: "rope_scaling: is {\"type\":\"yarn\"}, expected null",
	} {
		if _, err := family.Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "f: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v\nexpected %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/defaults.json")
	if err != nil {
		f.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		f.Fatal(err)
	}
	for text := range maps.Values(all) {
		f.Add([]byte(text))
	}
	files, err := filepath.Glob("testdata/*/config.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := family.Parse("file", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "file: ") {
				t.Errorf("error %q does not begin with the file", err)
			}
			return
		}
		if err := r.Config.Validate(); err != nil {
			t.Errorf("a config that is not valid: %v", err)
		}
	})
}

// What well-known models say in their config.json is understood, every key.
func TestPublished(t *testing.T) {
	for text, parameters := range map[string]int64{
		`{"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
		"hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
		"num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
		"type_vocab_size": 2, "use_cache": true, "vocab_size": 30522}`: 109514298, // bert-base-uncased
		`{"architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
		"hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "roberta",
		"num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1, "type_vocab_size": 1, "vocab_size": 50265}`: 124697433 - 2*768, // roberta-base, whose first two positions are padding's
		`{"architectures": ["AlbertForMaskedLM"], "attention_probs_dropout_prob": 0, "bos_token_id": 2, "classifier_dropout_prob": 0.1, "down_scale_factor": 1, "embedding_size": 128,
		"eos_token_id": 3, "gap_size": 0, "hidden_act": "gelu_new", "hidden_dropout_prob": 0, "hidden_size": 768, "initializer_range": 0.02, "inner_group_num": 1,
		"intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "albert", "net_structure_type": 0, "num_attention_heads": 12,
		"num_hidden_groups": 1, "num_hidden_layers": 12, "num_memory_blocks": 0, "pad_token_id": 0, "type_vocab_size": 2, "vocab_size": 30000}`: 11221680, // albert-base-v2
		`{"architectures": ["ModernBertForMaskedLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 50281, "classifier_activation": "gelu",
		"classifier_bias": false, "classifier_dropout": 0.0, "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": true, "deterministic_flash_attn": false,
		"embedding_dropout": 0.0, "eos_token_id": 50282, "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "gradient_checkpointing": false,
		"hidden_activation": "gelu", "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02, "intermediate_size": 1152, "layer_norm_eps": 1e-05,
		"local_attention": 128, "local_rope_theta": 10000.0, "max_position_embeddings": 8192, "mlp_bias": false, "mlp_dropout": 0.0, "model_type": "modernbert",
		"norm_bias": false, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22, "pad_token_id": 50283, "position_embedding_type": "absolute",
		"reference_compile": true, "repad_logits_with_grad": false, "sep_token_id": 50282, "sparse_pred_ignore_index": -100, "sparse_prediction": false,
		"torch_dtype": "float32", "transformers_version": "4.47.0.dev0", "vocab_size": 50368}`: 149655232, // ModernBERT-base
		`{"activation_type": "silu", "alibi": false, "alibi_bias_max": 8.0, "architectures": ["LLaDAModelLM"], "attention_dropout": 0.0, "attention_layer_norm": false,
		"attention_layer_norm_with_affine": true, "auto_map": {"AutoConfig": "configuration_llada.LLaDAConfig"}, "bias_for_layer_norm": false, "block_group_size": 1,
		"block_type": "llama", "d_model": 4096, "embedding_dropout": 0.0, "embedding_size": 126464, "eos_token_id": 126081, "flash_attention": false, "include_bias": false,
		"include_qkv_bias": false, "init_cutoff_factor": null, "init_device": "meta", "init_fn": "mitchell", "init_std": 0.02, "input_emb_norm": false,
		"layer_norm_type": "rms", "layer_norm_with_affine": true, "mask_token_id": 126336, "max_sequence_length": 4096, "mlp_hidden_size": 12288, "mlp_ratio": 4,
		"model_type": "llada", "multi_query_attention": null, "n_heads": 32, "n_kv_heads": 32, "n_layers": 32, "pad_token_id": 126081, "precision": "amp_bf16",
		"residual_dropout": 0.0, "rms_norm_eps": 1e-05, "rope": true, "rope_full_precision": true, "rope_theta": 500000.0, "scale_logits": false,
		"transformers_version": "4.46.3", "use_cache": false, "vocab_size": 126464, "weight_tying": false}`: 8015581184, // LLaDA-8B-Base
		`{"architectures": ["DreamModel"], "attention_dropout": 0.0, "auto_map": {"AutoModel": "modeling_dream.DreamModel"}, "bos_token_id": 151643, "eos_token_id": 151643,
		"hidden_act": "silu", "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944, "mask_token_id": 151666, "max_position_embeddings": 131072,
		"max_window_layers": 28, "model_type": "Dream", "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "pad_token_id": 151643,
		"rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
		"transformers_version": "4.46.2", "use_cache": true, "use_sliding_window": false, "vocab_size": 152064}`: 7615616512, // Dream-v0-Base-7B, the size of Qwen2.5-7B
	} {
		r, err := family.Parse("f", []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := network.ParamCount(r.Config); n != parameters {
			t.Errorf("%s has %d parameters, expected %d", r.ModelType, n, parameters)
		}
	}
}
