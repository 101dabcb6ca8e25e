package transformers

import (
	"encoding/json"

	"github.com/mdmhost/mdmhost/exporters"
)

// tokenizerConfig is tokenizer_config.json, by which AutoTokenizer finds the class that reads tokenizer.json, and the special tokens.
func tokenizerConfig(s *exporters.Source) ([]byte, error) {
	keys := map[string]any{
		"tokenizer_class":              "PreTrainedTokenizerFast",
		"model_input_names":            []string{"input_ids", "attention_mask"},
		"clean_up_tokenization_spaces": false,
		"mask_token":                   s.Tokenizer.Token(s.MaskID),
	}
	if s.MaxLength > 0 {
		keys["model_max_length"] = s.MaxLength
	}
	ids := map[string]int32{"pad_token": s.PadID, "bos_token": s.Model.Config.BOS, "eos_token": s.Model.Config.EOS}
	if id, ok := s.Tokenizer.Unknown(); ok {
		ids["unk_token"] = id
	}
	for key, id := range ids {
		if id >= 0 && s.Tokenizer.Token(id) != "" {
			keys[key] = s.Tokenizer.Token(id)
		}
	}
	text, err := json.MarshalIndent(keys, "", "  ")
	return append(text, '\n'), err
}
