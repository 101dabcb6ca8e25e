package family

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/nearest"
	"github.com/mdmhost/mdmhost/framework/network"
)

// keys says what becomes of every key of a config.json.
type keys map[string]rule

// rule takes the value of a key, nil where it is left out or null, and says what is wrong with it.
type rule func(value any) error

// to puts a value into the config; byDefault is that of the family's own config class.
func to[T int | float64 | bool | string](field *T, byDefault T) rule {
	return func(value any) error {
		*field = byDefault
		if value == nil {
			return nil
		}
		return scan(value, field)
	}
}

func scan[T int | float64 | bool | string](value any, field *T) error {
	var err error
	number, isNumber := value.(json.Number)
	switch f := any(field).(type) {
	case *int:
		var n int64
		if n, err = number.Int64(); err == nil && int64(int(n)) != n {
			err = fmt.Errorf("out of range")
		}
		*f = int(n)
		if !isNumber || err != nil {
			return fmt.Errorf("is %s, expected an integer", show(value))
		}
	case *float64:
		*f, err = number.Float64()
		if !isNumber || err != nil {
			return fmt.Errorf("is %s, expected a number", show(value))
		}
		if *f <= 0 { // of epsilons and bases
			return fmt.Errorf("is %s, expected a number above 0", show(value))
		}
	default:
		v, ok := value.(T)
		if !ok {
			return fmt.Errorf("is %s, expected a %T", show(value), v)
		}
		*field = v
	}
	return nil
}

// word puts a choice into the config under our name for it.
func word(field *string, byDefault string, names map[string]string) rule {
	return func(value any) error {
		name := byDefault
		if value != nil {
			if err := scan(value, &name); err != nil {
				return err
			}
		}
		ours, ok := names[name]
		if !ok {
			return fmt.Errorf("is %q, which has no rule; expected %s", name, strings.Join(sorted(names), ", "))
		}
		*field = ours
		return nil
	}
}

// only accepts some values, the first of which is that of the config class; why says what is missing for others.
func only(why string, allowed ...any) rule {
	return func(value any) error {
		if value == nil {
			value = allowed[0]
		}
		for _, a := range allowed {
			if same(value, a) {
				return nil
			}
		}
		return fmt.Errorf("is %s, expected %s: %s", show(value), show(allowed[0]), why)
	}
}

// refuse accepts no value at all but null.
func refuse(why string) rule {
	return func(value any) error {
		if value == nil {
			return nil
		}
		return fmt.Errorf("is %s, expected null: %s", show(value), why)
	}
}

// required is a rule whose key must be there, since the class's own default has no rule.
func required(byDefault any, r rule) rule {
	return func(value any) error {
		if value == nil {
			value = byDefault
		}
		return r(value)
	}
}

// moot is the rule of keys that mean nothing here, for a reason that stands first, for who reads the table.
func moot(_ string, names ...string) keys {
	out := keys{}
	for _, name := range names {
		out[name] = func(any) error { return nil }
	}
	return out
}

// all joins tables.
func all(tables ...keys) keys {
	out := keys{}
	for _, t := range tables {
		for name, r := range t {
			out[name] = r
		}
	}
	return out
}

func same(value, want any) bool {
	switch w := want.(type) {
	case int:
		f, err := number(value)
		return err == nil && f == float64(w)
	case float64:
		f, err := number(value)
		return err == nil && f == w
	}
	return reflect.DeepEqual(value, want)
}

func number(value any) (float64, error) {
	switch v := value.(type) {
	case json.Number:
		return v.Float64()
	case int:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return 0, fmt.Errorf("is no number")
}

// show is a value as the file has it, cut if it is long.
func show(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	if len(b) > 80 {
		return string(b[:77]) + "..."
	}
	return string(b)
}

func sorted(m map[string]string) (out []string) {
	for name := range m {
		out = append(out, fmt.Sprintf("%q", name))
	}
	slices.Sort(out)
	return out
}

// meant is ", the nearest is NAME" where a known word is close to an unknown one.
func meant(word string, known []string) string {
	if best := nearest.Word(word, known); best != "" {
		return fmt.Sprintf(", the nearest is %q", best)
	}
	return ""
}

// problems are what is wrong, under the key where it is.
type problems network.Problems

func (p *problems) add(key, format string, args ...any) {
	*p = append(*p, network.Problem{Key: key, Text: fmt.Errorf(format, args...).Error()})
}

func (p problems) lines() (out []string) {
	for _, one := range p {
		out = append(out, one.Key+": "+one.Text)
	}
	slices.Sort(out)
	return out
}
