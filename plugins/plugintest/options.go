package plugintest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func optionChecks() []check {
	after := []string{"schema", "start"}
	return []check{
		{Rule: Rule{"option-defaults", "options", "Every option is accepted at the default that the schema states.", "Saved settings name every option.", nil}, after: after, run: (*session).optionDefaults},
		{Rule: Rule{"option-values", "options", "Bounds and listed values are accepted, or refused with INVALID_CONFIG and a reason that names the option.", "Users believe the schema.", nil}, after: after, run: (*session).optionValues},
		{Rule: Rule{"unknown-option", "options", "An option that does not exist is refused with INVALID_CONFIG, by name.", "A slip of the pen would silently change nothing.", nil}, after: after, run: (*session).unknownOption},
		{Rule: Rule{"option-type", "options", "A value of the wrong type is refused with INVALID_CONFIG, and the option named.", "A wrong value would be read as something else.", nil}, after: after, run: (*session).optionType},
		{Rule: Rule{"option-range", "options", "A value out of bounds, or none of those listed, is refused with INVALID_CONFIG, and the option named.", "Runs would differ from what their settings say.", nil}, after: after, run: (*session).optionRange},
	}
}

// option is the part of a property's schema that the host reads.
type option struct {
	Type        any             `json:"type"`
	Default     json.RawMessage `json:"default"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
}

// schema is an options schema.
type schema struct {
	Type       any                        `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	options    map[string]option
}

// readSchema reads the options schema; its problems are told one by one.
func readSchema(text string) (*schema, []string) {
	s := &schema{options: map[string]option{}}
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return s, []string{"expected a JSON object, found one that cannot be read: " + err.Error()}
	}
	var problems []string
	if s.Type != "object" {
		problems = append(problems, fmt.Sprintf("expected \"type\": \"object\", found %v", s.Type))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		var o option
		if err := json.Unmarshal(s.Properties[name], &o); err != nil {
			problems = append(problems, fmt.Sprintf("option %s: %v", name, err))
			continue
		}
		s.options[name] = o
		for _, p := range o.problems() {
			problems = append(problems, fmt.Sprintf("option %s: %s", name, p))
		}
	}
	return s, problems
}

// types are those that values of the option may have.
func (o *option) types() []string {
	switch t := o.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, x := range t {
			out = append(out, fmt.Sprint(x))
		}
		return out
	}
	return nil
}

func (o *option) problems() (out []string) {
	known := []string{"boolean", "integer", "number", "string", "array", "object", "null"}
	types := o.types()
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return !slices.Contains(known, t) }) {
		return []string{fmt.Sprintf("expected a type of %s, found %v", list(known), o.Type)}
	}
	if o.Minimum != nil && o.Maximum != nil && *o.Minimum > *o.Maximum {
		out = append(out, fmt.Sprintf("its minimum is %v and its maximum %v", *o.Minimum, *o.Maximum))
	}
	if len(o.Default) == 0 {
		return append(out, "it has no default; expected one, so that no option must be given")
	}
	var v any
	if json.Unmarshal(o.Default, &v) != nil {
		return out
	}
	if !slices.ContainsFunc(types, func(t string) bool { return isOf(v, t) }) {
		out = append(out, fmt.Sprintf("its default %s is not of type %s", o.Default, list(types)))
	}
	if x, ok := v.(float64); ok && (o.Minimum != nil && x < *o.Minimum || o.Maximum != nil && x > *o.Maximum) {
		out = append(out, fmt.Sprintf("its default %s lies outside its own bounds", o.Default))
	}
	if o.Enum != nil && !slices.Contains(o.Enum, v) {
		out = append(out, fmt.Sprintf("its default %s is none of the values that it lists, %v", o.Default, o.Enum))
	}
	return out
}

func isOf(v any, kind string) bool {
	switch x := v.(type) {
	case bool:
		return kind == "boolean"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	case string:
		return kind == "string"
	case nil:
		return kind == "null"
	case []any:
		return kind == "array"
	}
	return kind == "object"
}

func (s *session) checkSchema() {
	read, problems := readSchema(s.about.OptionsSchema)
	for _, p := range problems {
		s.find(Error, "schema", "correct the schema, or let a kit write it from the options' declaration", "%s", p)
	}
	for _, name := range slices.Sorted(maps.Keys(read.options)) {
		if o := read.options[name]; o.Description == "" && len(problems) == 0 {
			s.find(Note, "schema", "say what the option does, with its unit", "option %s has no description", name)
		}
	}
}

// begins starts and ends a run, or builds the graphs, with the given options.
func (s *session) begins(options string) error {
	if s.target.kind == sampling.KindTrainer {
		_, err := s.build([]byte(options))
		return err
	}
	run := s.run
	run.Options = []byte(options)
	_, err := s.begin(run)
	return err
}

// options calls f for every option, in the order of their names.
func (s *session) options(f func(name string, o option)) {
	read, _ := readSchema(s.about.OptionsSchema)
	for _, name := range slices.Sorted(maps.Keys(read.options)) {
		if s.ctx.Err() == nil {
			f(name, read.options[name])
		}
	}
}

// with is an options object of one option.
func with(name, value string) string { return fmt.Sprintf("{%s: %s}", strconv.Quote(name), value) }

func (s *session) optionDefaults() {
	s.options(func(name string, o option) {
		if err := s.begins(with(name, string(o.Default))); err != nil {
			s.blame("option-defaults", fmt.Sprintf("Start with %s, the default", with(name, string(o.Default))), err)
		}
	})
}

func (s *session) optionValues() {
	s.options(func(name string, o option) {
		var values []string
		for _, x := range o.Enum {
			if raw, err := json.Marshal(x); err == nil {
				values = append(values, string(raw))
			}
		}
		for _, bound := range []*float64{o.Minimum, o.Maximum} {
			if bound != nil {
				values = append(values, strconv.FormatFloat(*bound, 'g', -1, 64))
			}
		}
		if slices.Contains(o.types(), "boolean") {
			values = append(values, "true", "false")
		}
		for _, v := range values {
			err := s.begins(with(name, v))
			switch {
			case err == nil:
			case troubleOf(err) != refused:
				s.blame("option-values", "Start with "+with(name, v), err)
			case codeOf(err) != sampling.InvalidConfig:
				s.find(Error, "option-values", "refuse options with INVALID_CONFIG", "Start with %s, which the schema allows: expected a run, or INVALID_CONFIG, found %s", with(name, v), said(err))
			}
		}
	})
}

func (s *session) unknownOption() {
	s.refuses("unknown-option", "no_such_option", with("no_such_option", "1"), "is no option")
}

func (s *session) optionType() {
	s.options(func(name string, o option) {
		value := "[]"
		if slices.Contains(o.types(), "array") {
			value = "true"
		}
		s.refuses("option-type", name, with(name, value), "is of another type")
	})
}

func (s *session) optionRange() {
	s.options(func(name string, o option) {
		if o.Minimum != nil {
			s.refuses("option-range", name, with(name, strconv.FormatFloat(*o.Minimum-1, 'g', -1, 64)), "lies below the minimum")
		}
		if o.Maximum != nil && *o.Maximum < 1<<52 {
			s.refuses("option-range", name, with(name, strconv.FormatFloat(*o.Maximum+1, 'g', -1, 64)), "lies above the maximum")
		}
		if o.Enum != nil && slices.Contains(o.types(), "string") {
			s.refuses("option-range", name, with(name, `"no such value"`), "is none of the values listed")
		}
	})
}

// refuses expects options to be refused with INVALID_CONFIG and the name of the option.
func (s *session) refuses(check, name, options, what string) {
	err := s.begins(options)
	const fix = "read options with the kit, which checks them against their declaration and names every problem at once"
	switch {
	case err == nil:
		s.find(Error, check, fix, "Start with %s, which %s: expected INVALID_CONFIG, found a run", options, what)
	case troubleOf(err) != refused:
		s.blame(check, "Start with "+options, err)
	case codeOf(err) != sampling.InvalidConfig:
		s.find(Error, check, fix, "Start with %s, which %s: expected INVALID_CONFIG, found %s", options, what, said(err))
	case !strings.Contains(err.Error(), name):
		s.find(Warning, check, fix, "Start with %s, which %s: expected an error that names the option %s, found %s", options, what, name, said(err))
	}
}
