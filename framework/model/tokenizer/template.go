package tokenizer

import (
	"encoding/json"
	"fmt"
)

// template is what a post-processor puts around a text.
type template struct{ prefix, suffix []int32 }

// Template implements [Tokenizer]. The slices must not be changed.
func (t template) Template() (prefix, suffix []int32) { return t.prefix, t.suffix }

// around returns prefix, ids, suffix.
func (t template) around(ids []int32) []int32 {
	out := make([]int32, 0, len(t.prefix)+len(ids)+len(t.suffix))
	return append(append(append(out, t.prefix...), ids...), t.suffix...)
}

// template reads the post-processors that put special tokens around a text. The others only move offsets.
func (p *processorSpec) template(v *vocabulary) (template, error) {
	if p == nil {
		return template{}, nil
	}
	switch p.Type {
	case "ByteLevel":
		return template{}, nil
	case "TemplateProcessing":
		return p.pieces(v)
	case "BertProcessing", "RobertaProcessing":
		cls, err := pair("cls", p.Cls, v)
		if err != nil {
			return template{}, err
		}
		sep, err := pair("sep", p.Sep, v)
		return template{prefix: []int32{cls}, suffix: []int32{sep}}, err
	case "Sequence":
		var all template
		for _, q := range p.Processors {
			t, err := q.template(v)
			if err != nil {
				return template{}, err
			}
			all = template{prefix: append(t.prefix, all.prefix...), suffix: append(all.suffix, t.suffix...)}
		}
		return all, nil
	}
	return template{}, fmt.Errorf("type %q is not known, expected TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or Sequence", p.Type)
}

// pieces reads the template of a single text, such as [CLS] $A [SEP].
func (p *processorSpec) pieces(v *vocabulary) (template, error) {
	var t template
	texts := 0
	for i, piece := range p.Single {
		switch {
		case piece.Sequence != nil:
			texts++
		case piece.SpecialToken != nil:
			s, ok := p.SpecialTokens[piece.SpecialToken.ID]
			if !ok {
				return t, fmt.Errorf("single: %q is not among special_tokens", piece.SpecialToken.ID)
			}
			for _, id := range s.IDs {
				if id < 0 || id > maxID || !v.in(int32(id)) {
					return t, fmt.Errorf("special_tokens: %q has id %d, which the vocabulary lacks", piece.SpecialToken.ID, id)
				}
				if texts == 0 {
					t.prefix = append(t.prefix, int32(id))
				} else {
					t.suffix = append(t.suffix, int32(id))
				}
			}
		default:
			return t, fmt.Errorf("single: piece %d is neither a Sequence nor a SpecialToken", i)
		}
	}
	if texts != 1 {
		return t, fmt.Errorf("single: has the text %d times, expected once", texts)
	}
	return t, nil
}

// pair reads ["[SEP]", 13].
func pair(name string, raw json.RawMessage, v *vocabulary) (int32, error) {
	var token string
	var id int32
	both := [2]any{&token, &id}
	if err := json.Unmarshal(raw, &both); err != nil {
		return 0, fmt.Errorf("%s: is not [token, id]: %w", name, err)
	}
	if !v.in(id) {
		return 0, fmt.Errorf("%s: %q has id %d, which the vocabulary lacks", name, token, id)
	}
	return id, nil
}
