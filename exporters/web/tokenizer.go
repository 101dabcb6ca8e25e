package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// kinds are the models of tokenizer.json that the package @huggingface/tokenizers reads.
var kinds = []string{"WordPiece", "BPE", "Unigram", "WordLevel"}

// readable refuses a tokenizer.json that the page cannot read. What its rules make of text is held against the source in Verify.
func readable(name string, file []byte) error {
	var t struct {
		Model struct {
			Type string `json:"type"`
		} `json:"model"`
	}
	if err := json.Unmarshal(file, &t); err != nil {
		return fmt.Errorf("model %s: tokenizer.json: %w", name, err)
	}
	if t.Model.Type != "" && !slices.Contains(kinds, t.Model.Type) {
		return fmt.Errorf("model %s: tokenizer.json has a model of type %q, and browsers have tokenizers for %s; take the model elsewhere with --to transformers or --to onnx", name, t.Model.Type, strings.Join(kinds, ", "))
	}
	return nil
}
