package options

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Description is an option as people read it.
type Description struct {
	Name    string
	Values  string // what it may be, such as "integer from 1 to 64"
	Default string // in JSON; "" where there is none
	Help    string
}

// String returns everything but the name, such as "integer from 1, default 4: positions opened in a step".
func (d Description) String() string {
	s := d.Values
	if d.Default != "" {
		s += ", default " + d.Default
	}
	if d.Help != "" {
		s += ": " + d.Help
	}
	return s
}

// property is the part of a JSON Schema that people read.
type property struct {
	Type             any
	Default          json.RawMessage
	Description      string
	Enum             []any
	Minimum, Maximum *float64
	Items            *property
}

// Describe reads the JSON Schema of anybody's options, by name. An empty schema has none. The error says that the schema is no
// JSON Schema of an object.
func Describe(schema string) ([]Description, error) {
	if strings.TrimSpace(schema) == "" {
		return nil, nil
	}
	var s struct{ Properties map[string]property }
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		return nil, fmt.Errorf("options schema: expected a JSON Schema object: %w; the plugin's author must correct it", err)
	}
	var out []Description
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		out = append(out, Description{Name: name, Values: p.values(), Default: strings.TrimSpace(string(p.Default)), Help: p.Description})
	}
	return out, nil
}

// values says what the property may be. A number whose schema allows texts takes the infinities.
func (p property) values() string {
	var types []string
	switch t := p.Type.(type) {
	case string:
		types = []string{t}
	case []any:
		for _, name := range t {
			types = append(types, fmt.Sprint(name))
		}
	}
	s := strings.Join(types, " or ")
	if slices.Equal(types, []string{"number", "string"}) {
		s = "number"
	}
	if p.Items != nil {
		s = "list of " + p.Items.values()
	}
	if p.Enum != nil {
		words := make([]string, len(p.Enum))
		for i, word := range p.Enum {
			words[i] = fmt.Sprint(word)
		}
		s = "one of " + strings.Join(words, ", ")
	}
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		s += fmt.Sprintf(" from %v to %v", *p.Minimum, *p.Maximum)
	case p.Minimum != nil:
		s += fmt.Sprintf(" from %v", *p.Minimum)
	case p.Maximum != nil:
		s += fmt.Sprintf(" up to %v", *p.Maximum)
	}
	return s
}
