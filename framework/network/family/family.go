// Package family reads networks that others trained, or that were trained elsewhere: what Hugging Face calls families of models. A family is a table of the keys of
// its config.json and a table of the names of its tensors; from both comes a [network.Config] and its parameters. No key and no tensor is
// passed over in silence: each is used, known to mean nothing here, or an error.
//
//	recipe, err := family.Parse("config.json", text)
//	parameters, err := recipe.Assemble(file.Tensors())
package family

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Recipe is how a model of a family becomes a network of ours.
type Recipe struct {
	ModelType string          // of config.json, such as "bert"
	Config    network.Config  // filled and valid
	Special   network.Special // ids that config.json names; -1 where it names none
	Mask      int32           // the family's own mask id, for models that name none anywhere; -1: it has none
	Notes     []string        // what was left out or decided, for people

	// Extra are further tensors of a network of ours ([network.IsExtra]), which Assemble finds.
	Extra []safetensors.Tensor

	family *family
	draft  *draft
}

// family is what is known of the models of one model_type.
type family struct {
	keys     func(*draft) keys     // besides those of common
	settle   func(*draft) problems // relations between keys, once all were read; nil: none
	tensors  func(*draft) []line   // nil: they have our names
	prefixes []string              // that names of tensors may begin with, or not
	head     string                // of the tensors that make logits, in messages
}

var families = map[string]*family{
	"bert":        bert,
	"albert":      albert,
	"roberta":     roberta,
	"xlm-roberta": xlmRoberta,
	"camembert":   xlmRoberta,
	"modernbert":  modernbert,
	"llada":       llada,
	"dream":       dream,

	network.ModelType: ours,

	"Dream": dream, // so its own files spell it
}

// Names lists the families that have rules.
func Names() []string {
	names := slices.Sorted(maps.Keys(families))
	return slices.DeleteFunc(names, func(n string) bool { return n == "Dream" })
}

// draft is a config on its way.
type draft struct {
	network.Config
	ids ids

	skip int64           // rows of the table of positions that belong to padding (RoBERTa)
	more any             // what a family's settle needs of keys that are no config's
	null map[string]bool // keys that are there and null
}

// Parse reads a config.json. name is what errors call the file. All problems are listed at once: unknown keys, with the nearest known
// one, and values without a rule, with the reason.
func Parse(name string, data []byte) (*Recipe, error) {
	var values map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("%s: %w; expected a JSON object, as Hugging Face's models have it", name, err)
	}
	if values == nil {
		return nil, fmt.Errorf("%s: is null, expected a JSON object", name)
	}
	if rest := bytes.TrimSpace(data[d.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("%s: has text behind its JSON object, which may mean something else; remove it", name)
	}
	modelType, err := typeOf(name, values)
	if err != nil {
		return nil, err
	}
	var notes []string
	if values["model_type"] == nil {
		notes = append(notes, fmt.Sprintf("%s has no model_type: by its other keys it is of %s", name, modelType))
	}
	r := &Recipe{Notes: notes, ModelType: modelType, family: families[modelType], draft: &draft{ids: ids{}, null: map[string]bool{}}}
	found := r.read(values)
	if found == nil && r.family.settle != nil {
		found = r.family.settle(r.draft)
	}
	if found == nil {
		r.Config = r.draft.Filled()
		if err := r.Config.Validate(); err != nil {
			return nil, fmt.Errorf("%s: model_type %s: as a network of this framework it would be: %w", name, modelType, err)
		}
		r.Special, r.Mask, found = r.draft.ids.settle(r.Config.VocabSize)
	}
	if found != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.Join(found.lines(), "\n"+name+": "))
	}
	return r, nil
}

// typeOf is the model_type. Files of before 2020 lack it: then the name of the class that wrote them tells it, or keys of one family only.
func typeOf(name string, values map[string]any) (string, error) {
	t, ok := values["model_type"].(string)
	if said := values["model_type"]; said == nil {
		t = guess(values)
	} else if !ok {
		return "", fmt.Errorf("%s: model_type: is %s, expected a string such as \"bert\"", name, show(said))
	}
	switch {
	case families[t] != nil:
		return t, nil
	case t == "":
		return "", fmt.Errorf("%s: has no model_type; add the one of %s whose class trained the model", name, strings.Join(Names(), ", "))
	}
	for _, causal := range []string{"llama", "qwen", "mistral", "gpt", "gemma", "phi", "olmo", "falcon", "opt"} {
		if strings.HasPrefix(t, causal) {
			return "", fmt.Errorf("%s: model_type %q is a causal model, which does not see what follows a mask; expected one of %s, such as a model that was trained on from it to fill masks", name, t, strings.Join(Names(), ", "))
		}
	}
	return "", fmt.Errorf("%s: model_type %q has no rule; there are rules for %s. Export the model to ONNX with its own tools instead: `mdmhost sample --model DIR` runs onnx/model.onnx with config.json and tokenizer.json as it is", name, t, strings.Join(Names(), ", "))
}

// guess finds the type of a file without model_type.
func guess(values map[string]any) string {
	if classes, ok := values["architectures"].([]any); ok && len(classes) > 0 {
		class, _ := classes[0].(string)
		for prefix, t := range map[string]string{"Bert": "bert", "Albert": "albert", "Roberta": "roberta", "ModernBert": "modernbert", "LLaDA": "llada", "Dream": "dream"} {
			if strings.HasPrefix(class, prefix) {
				return t
			}
		}
	}
	has := func(key string) bool { _, ok := values[key]; return ok }
	switch {
	case has("inner_group_num"):
		return "albert"
	case has("type_vocab_size") && has("intermediate_size") && has("max_position_embeddings") && !has("embedding_size"):
		return "bert" // as BertConfig wrote itself before there were model types
	}
	return ""
}

// read takes every key.
func (r *Recipe) read(values map[string]any) (found problems) {
	rules := all(common(r.draft), r.family.keys(r.draft)) // the family's own goes before
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		if err := rules[key](values[key]); err != nil {
			found.add(key, "%w", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if r.draft.null[key] = values[key] == nil; rules[key] == nil {
			found.add(key, "is no key of model_type %s%s; remove it if it means nothing to the network", r.ModelType, meant(key, slices.Sorted(maps.Keys(rules))))
		}
	}
	return found
}
