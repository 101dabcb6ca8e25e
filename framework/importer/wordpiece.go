package importer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fromVocabulary makes tokenizer.json of a vocab.txt where tokenizer_config.json says that it is BERT's; other forms are explained.
func (w *words) fromVocabulary(dir string, about tokenizerConfig) ([]byte, error) {
	class := strings.TrimSuffix(about.Class, "Fast")
	path := filepath.Join(dir, "vocab.txt")
	text, err := os.ReadFile(path)
	if err == nil && (class == "BertTokenizer" || class == "" && about.Lower != nil) {
		w.read = append(w.read, path)
		return wordPiece(path, strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), about)
	}
	var have []string
	for _, name := range []string{"vocab.txt", "vocab.json", "merges.txt", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			have = append(have, name)
		}
	}
	hint := "download it"
	switch {
	case err == nil:
		hint = "vocab.txt does not say how texts are split: if the tokenizer is BERT's, write {\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": true} to tokenizer_config.json, with false for models that tell small letters from capital ones"
	case len(have) > 0:
		hint = fmt.Sprintf("it has %s: in Python, transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) makes tokenizer.json of them", strings.Join(have, ", "))
	}
	return nil, fmt.Errorf("%s: has no tokenizer.json; %s, or give one with --tokenizer FILE", dir, hint)
}

// object is a JSON object whose keys are in no order.
type object = map[string]any

// wordPiece is the tokenizer.json of BERT's tokenizer with a vocabulary, one token a line.
func wordPiece(path, text string, about tokenizerConfig) ([]byte, error) {
	vocabulary := map[string]int{}
	for id, token := range strings.Split(text, "\n") {
		vocabulary[token] = id // as the tokenizer does, the last of equal ones counts
	}
	var added []object
	id := map[string]int{}
	for _, one := range []struct{ name, usual string }{{"pad_token", "[PAD]"}, {"unk_token", "[UNK]"}, {"cls_token", "[CLS]"}, {"sep_token", "[SEP]"}, {"mask_token", "[MASK]"}} {
		token := cmp.Or(about.tokens[one.name], one.usual)
		at, ok := vocabulary[token]
		if !ok {
			return nil, fmt.Errorf("%s: has no %s %q; name the one that it has in tokenizer_config.json", path, one.name, token)
		}
		id[one.name] = at
		added = append(added, object{"id": at, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	slices.SortFunc(added, func(a, b object) int { return a["id"].(int) - b["id"].(int) })
	special := func(name, usual string) (string, object) {
		token := cmp.Or(about.tokens[name], usual)
		return token, object{"id": token, "ids": []int{id[name]}, "tokens": []string{token}}
	}
	cls, clsEntry := special("cls_token", "[CLS]")
	sep, sepEntry := special("sep_token", "[SEP]")
	piece := func(token string, kind int) object {
		return object{"SpecialToken": object{"id": token, "type_id": kind}}
	}
	part := func(name string, kind int) object { return object{"Sequence": object{"id": name, "type_id": kind}} }
	isTrue := func(b *bool) bool { return b == nil || *b }
	return json.Marshal(object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added,
		"normalizer":    object{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": isTrue(about.Han), "strip_accents": about.Strip, "lowercase": isTrue(about.Lower)},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"post_processor": object{"type": "TemplateProcessing", "single": []object{piece(cls, 0), part("A", 0), piece(sep, 0)},
			"pair":           []object{piece(cls, 0), part("A", 0), piece(sep, 0), part("B", 1), piece(sep, 1)},
			"special_tokens": object{cls: clsEntry, sep: sepEntry}},
		"decoder": object{"type": "WordPiece", "prefix": "##", "cleanup": true},
		"model":   object{"type": "WordPiece", "unk_token": cmp.Or(about.tokens["unk_token"], "[UNK]"), "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
	})
}
