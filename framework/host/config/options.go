package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// PlannerOptions checks the planner's options against its schema; see [ValidateOptions].
func (c *Config) PlannerOptions(schema string) (map[string]any, error) {
	return ValidateOptions(schema, c.Planner.Options, c.where("planner"))
}

// SamplerOptions checks the sampler's options against its schema; see [ValidateOptions].
func (c *Config) SamplerOptions(schema string) (map[string]any, error) {
	return ValidateOptions(schema, c.Sampler.Options, c.where("sampler"))
}

// TrainerOptions checks the trainer's options against its schema; see [ValidateOptions].
func (c *Config) TrainerOptions(schema string) (map[string]any, error) {
	return ValidateOptions(schema, c.Trainer.Options, c.where("trainer"))
}

func (c *Config) where(section string) func(string) (string, Origin) {
	return func(name string) (string, Origin) { return section + "." + name, c.Origin(section + "." + name) }
}

// ValidateOptions returns the options in the types of a plugin's JSON Schema: a [Text] becomes what its property asks
// for, everything else must fit as it is. where returns the full key and the origin of an option. The error is of type
// [Problems]: unknown options with the nearest name, wrong types, values out of bounds, all at once. An empty schema
// takes no options.
func ValidateOptions(schema string, options map[string]any, where func(name string) (string, Origin)) (map[string]any, error) {
	if strings.TrimSpace(schema) == "" {
		schema = `{"type": "object", "additionalProperties": false}`
	}
	var shape struct {
		Properties           map[string]property
		AdditionalProperties any
	}
	if err := json.Unmarshal([]byte(schema), &shape); err != nil {
		return nil, fmt.Errorf("options schema: expected a JSON Schema object: %w; the plugin's author must correct it", err)
	}
	var problems Problems
	add := func(name, text string) {
		key, origin := where(name)
		if p := (Problem{origin, key, text}); !slices.Contains(problems, p) { // several entries of a list
			problems = append(problems, p)
		}
	}
	typed := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		p, known := shape.Properties[name]
		if !known && (shape.AdditionalProperties == nil || shape.AdditionalProperties == false) {
			add(name, "unknown option"+nearest.DidYouMean(name, slices.Collect(maps.Keys(shape.Properties)))+noOptions(len(shape.Properties)))
			continue
		}
		typed[name] = p.convert(options[name])
		if f, ok := typed[name].(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
			add(name, fmt.Sprintf("expected a finite number, found %v; where the option takes infinity, write it as the text \"inf\"", f))
			delete(typed, name)
		}
	}
	if err := fits(schema, typed, func(place, text string) {
		name, _, inside := strings.Cut(place, ".")
		p, known := shape.Properties[name]
		switch {
		case known && p.Items != nil && p.Items.key().Kind != "":
			text = "expected a list, each entry " + p.Items.key().expected() + ", found " + quote(options[name])
		case known && !inside && p.key().Kind != "":
			text = "expected " + p.key().expected() + ", found " + quote(options[name]) + p.meant(typed[name])
		case inside:
			text = place + ": " + text
		}
		add(name, text)
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return typed, problems.err()
}

func noOptions(n int) string {
	if n == 0 {
		return "; this plugin has no options"
	}
	return ""
}

// property is what the schema says of an option, as far as people are told.
type property struct {
	Type             any
	Enum             []any
	Minimum, Maximum *float64
	Above            *float64 `json:"exclusiveMinimum"`
	Below            *float64 `json:"exclusiveMaximum"`
	Items            *property
}

// types are the names of JSON Schema.
func (p property) types() []any {
	if list, ok := p.Type.([]any); ok {
		return list
	}
	return []any{p.Type}
}

// texts are the words of an enum.
func (p property) texts() []string {
	var out []string
	for _, v := range p.Enum {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// key describes the option in the words of the host's own settings; its kind is "" where they have none.
func (p property) key() *Key {
	k := &Key{Min: cmp.Or(p.Above, p.Minimum), Max: cmp.Or(p.Below, p.Maximum), Above: p.Above != nil, Below: p.Below != nil, Enum: p.texts()}
	has := func(t string) bool { return slices.Contains(p.types(), any(t)) }
	switch {
	case has("number") && has("string"):
		k.Kind = "a number (or inf)" // a text is how JSON says infinity
	case has("number"):
		k.Kind = Float
	case has("integer"):
		k.Kind = Int
	case has("boolean"):
		k.Kind = Bool
	case has("string"):
		k.Kind = String
	}
	return k
}

// meant names the allowed text that is near to what was given.
func (p property) meant(given any) string {
	text, _ := given.(string)
	return nearest.Perhaps(text, p.texts())
}

// convert gives a text the type of the property, another than string where it can; what does not convert stays a string
// for the schema to judge.
func (p property) convert(v any) any {
	text, ok := v.(Text)
	if !ok {
		return v
	}
	types := p.types()
	var out any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		return string(text)
	}
	is := ""
	switch n := out.(type) {
	case bool:
		is = "boolean"
	case int:
		is = "integer"
	case float64:
		if is = "number"; math.IsInf(n, 0) || math.IsNaN(n) {
			is = ""
		}
	case []any:
		is = "array"
	case map[string]any:
		is = "object"
	}
	if slices.Contains(types, any(is)) || (is == "integer" && slices.Contains(types, any("number"))) || (is != "" && !slices.Contains(types, any("string"))) {
		return out
	}
	return string(text)
}

// fits reports every place where the options break the schema.
func fits(schema string, options map[string]any, report func(name, text string)) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return fmt.Errorf("options schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("options.json", doc); err != nil {
		return fmt.Errorf("options schema: %w", err)
	}
	compiled, err := compiler.Compile("options.json")
	if err != nil {
		return fmt.Errorf("options schema: %w; the plugin's author must correct it", err)
	}
	raw, err := json.Marshal(options)
	if err != nil {
		return fmt.Errorf("options: expected values that JSON can hold: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return fmt.Errorf("options: %w", err)
	}
	invalid, ok := compiled.Validate(value).(*jsonschema.ValidationError)
	if !ok {
		return nil
	}
	printer := message.NewPrinter(language.English)
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			name := strings.Join(e.InstanceLocation, ".")
			report(name, e.ErrorKind.LocalizedString(printer))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	return nil
}
