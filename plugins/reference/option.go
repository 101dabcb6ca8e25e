package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// option is a property of an options schema, as far as people read it.
type option struct {
	name        string
	Type        any // a name of JSON Schema, or several
	Default     json.RawMessage
	Description string
	Enum        []any
	Minimum     *float64
	Maximum     *float64
}

// is tells whether the option takes values of a type.
func (o option) is(name string) bool {
	if list, ok := o.Type.([]any); ok {
		return slices.Contains(list, any(name))
	}
	return o.Type == name
}

// kind is the type in a word: numbers also take the texts inf and -inf, which their schema says as a second type.
func (o option) kind() string {
	for _, name := range []string{"number", "integer", "boolean", "string"} {
		if o.is(name) {
			return name
		}
	}
	return cell(fmt.Sprint(o.Type))
}

// value is the default without quotes.
func (o option) value() string {
	var text string
	if json.Unmarshal(o.Default, &text) == nil {
		return text
	}
	return string(o.Default)
}

func (o option) preset() string {
	if v := o.value(); v != "" {
		return code(v)
	}
	return ""
}

// allowed is the range or the list of values.
func (o option) allowed() string {
	if len(o.Enum) > 0 {
		var out []string
		for _, v := range o.Enum {
			out = append(out, code(fmt.Sprint(v)))
		}
		return strings.Join(out, ", ")
	}
	switch {
	case o.Minimum != nil && o.Maximum != nil:
		return fmt.Sprintf("%v to %v", *o.Minimum, *o.Maximum)
	case o.Minimum != nil:
		return fmt.Sprintf("from %v", *o.Minimum)
	case o.Maximum != nil:
		return fmt.Sprintf("up to %v", *o.Maximum)
	}
	return ""
}

// example is a value that the option takes: its default, where it has one.
func (o option) example() string {
	switch {
	case o.value() != "":
		return o.value()
	case len(o.Enum) > 0:
		return fmt.Sprint(o.Enum[0])
	}
	return "VALUE"
}
