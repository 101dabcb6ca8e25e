//go:build tokenizers

package gguf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/network"
)

// bytewise is a tokenizer.json of byte-level BPE with three merges, cut as Llama 3 and Qwen 2 are or as GPT-2, [BOS] before a text.
func bytewise(t *testing.T, regex string) []byte {
	t.Helper()
	vocab := map[string]int{}
	for b := range 256 { // GPT-2's letters of bytes: what is no visible sign of Latin-1 comes from 256 on
		visible := '!' <= b && b <= '~' || 0xA1 <= b && b <= 0xAC || 0xAE <= b
		letter := rune(b)
		if !visible {
			letter = 256
			for vocab[string(letter)] > 0 || letter == 256 && len(vocab) > 0 && hasKey(vocab, string(letter)) {
				letter++
			}
		}
		vocab[string(letter)] = len(vocab)
	}
	for _, token := range []string{"th", "the", "an"} {
		vocab[token] = len(vocab)
	}
	n := len(vocab)
	added := []map[string]any{}
	for i, token := range []string{"[PAD]", "[MASK]", "[BOS]", "[EOS]"} {
		vocab[token] = n + i
		added = append(added, map[string]any{"id": n + i, "content": token, "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	pre := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	if regex != "" {
		pre["use_regex"] = false
		pre = map[string]any{"type": "Sequence", "pretokenizers": []any{map[string]any{"type": "Split", "pattern": map[string]any{"Regex": regex}, "behavior": "Isolated", "invert": false}, pre}}
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": added, "pre_tokenizer": pre, "decoder": map[string]any{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
		"post_processor": map[string]any{"type": "TemplateProcessing", "single": []any{map[string]any{"SpecialToken": map[string]any{"id": "[BOS]", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}},
			"pair": []any{map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 1}}}, "special_tokens": map[string]any{"[BOS]": map[string]any{"id": "[BOS]", "ids": []int{n + 2}, "tokens": []string{"[BOS]"}}}},
		"model": map[string]any{"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []string{"t h", "th e", "a n"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func hasKey(m map[string]int, key string) bool { _, is := m[key]; return is }

// Networks shaped as LLaDA and Dream are read back as they were written, and answered for by llama.cpp, where EXPORT_PYTHON has gguf and
// llama-cpp-python.
func TestNetworks(t *testing.T) {
	shape := network.Config{VocabSize: 270, HiddenSize: 32, Layers: 2, Heads: 4, Intermediate: 48, MaxPositions: 32, Norm: network.NormRMS, Activation: network.SwiGLU}
	for name, change := range map[string]func(c *network.Config) string{
		"llada":             func(*network.Config) string { return "" },
		"llada, wide heads": func(c *network.Config) string { c.HeadDim, c.KeyValueHeads, c.RopeBase = 12, 2, 500000; return "" },
		"dream": func(c *network.Config) string {
			c.QKVBias, c.LogitsShift, c.KeyValueHeads = true, true, 2
			return "qwen2"
		},
		"dream, tied":       func(c *network.Config) string { c.QKVBias, c.Tied, c.NormEps = true, true, 1e-6; return "llama-bpe" },
		"shift, wide heads": func(c *network.Config) string { c.LogitsShift, c.QKVBias, c.HeadDim = true, true, 16; return "qwen2" },
	} {
		t.Run(name, func(t *testing.T) {
			c, regex := shape, ""
			pre := change(&c)
			for expression, of := range expressions {
				if of == pre {
					regex = expression
				}
			}
			c = c.Filled()
			values := network.Initialise(c, 3)
			for _, v := range values { // biases and norms that are not all alike
				for i := range v {
					v[i] += float32(i%5-2) / 40
				}
			}
			dir := filepath.Join(t.TempDir(), "model")
			if err := network.WriteModelDir(dir, network.ModelDir{Config: c, Values: values, Tokenizer: bytewise(t, regex)}); err != nil {
				t.Fatal(err)
			}
			for _, precision := range []string{exporters.FP32, exporters.FP16Weights, exporters.BF16} {
				s := open(t, dir)
				o := exporters.Options{Precision: precision, Python: os.Getenv("EXPORT_PYTHON"), Verify: exporters.VerifyMust, Version: "test"}
				if o.Python == "" {
					o.Verify = exporters.VerifyOff
				}
				out := filepath.Join(t.TempDir(), "out")
				r, err := exporters.Export(t.Context(), New(), s, o, out)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%s: %+v", precision, r.Verified)
				data, err := os.ReadFile(filepath.Join(out, fileName))
				if err != nil {
					t.Fatal(err)
				}
				keys, _ := read(t, data, sizes)
				wanted := map[string]any{"general.architecture": architecture(c), "diffusion.shift_logits": c.LogitsShift, "tokenizer.ggml.mask_token_id": uint32(s.MaskID),
					"tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.add_eos_token": false, "tokenizer.ggml.bos_token_id": uint32(261), "tokenizer.ggml.merges": []string{"t h", "th e", "a n"}}
				got := map[string]any{}
				for key := range wanted {
					got[key] = keys[key]
				}
				if diff := cmp.Diff(wanted, got); diff != "" {
					t.Errorf("metadata (-want +got):\n%s", diff)
				}
				if n, k := len(keys["tokenizer.ggml.tokens"].([]string)), keys["tokenizer.ggml.token_type"].([]int32); n != c.VocabSize || k[260] != tokenControl || k[c.VocabSize-1] != tokenUnused || k[0] != tokenNormal {
					t.Errorf("%d tokens of types %v", n, k)
				}
			}
		})
	}
}
