package options

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Problems lists everything that is wrong with a set of options.
type Problems []string

// Error joins the problems by "; ".
func (p Problems) Error() string { return strings.Join(p, "; ") }

// Parse reads a JSON object into a struct of options: defaults first, then what is given. No bytes at all, or null, are
// the defaults. The error is of type [Problems], which lists all problems at once: unknown keys with the nearest name,
// wrong types, values out of bounds.
func Parse[O any](given []byte) (O, error) {
	var o O
	fs, err := fields(reflect.TypeFor[O]())
	if err != nil {
		return o, err
	}
	values, err := object(given)
	if err != nil {
		return o, Problems{err.Error()}
	}
	var problems Problems
	to := reflect.ValueOf(&o).Elem()
	for _, f := range fs {
		v := f.preset
		if raw, ok := values[f.name]; ok {
			delete(values, f.name)
			if v, err = f.decode(raw); err != nil {
				problems = append(problems, fmt.Sprintf("option %s: %v", f.name, err))
				continue
			}
		}
		if err := set(to.FieldByIndex(f.index), v); err != nil {
			problems = append(problems, fmt.Sprintf("option %s: %v", f.name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		problems = append(problems, fmt.Sprintf("option %s: unknown%s", name, nearest(name, fs)))
	}
	if len(problems) > 0 {
		return o, problems
	}
	return o, nil
}

func object(given []byte) (map[string]json.RawMessage, error) {
	if len(bytes.TrimSpace(given)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(given))
	var values map[string]json.RawMessage
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("options: expected a JSON object: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("options: expected one JSON object and nothing after it")
	}
	return values, nil
}

// decode reads a JSON value as what the field holds and checks its bounds.
func (f field) decode(raw json.RawMessage) (any, error) {
	if !f.list {
		return f.entry(raw)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, fmt.Errorf("expected a list of entries, each %s, found %s", f.expected(), raw)
	}
	entries := make([]any, len(list))
	for i, entry := range list {
		var err error
		if entries[i], err = f.entry(entry); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return entries, nil
}

// entry reads a JSON value as the field's kind.
func (f field) entry(raw json.RawMessage) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case bool:
		if f.kind == boolean {
			return x, nil
		}
	case json.Number:
		if f.kind == number || f.kind == integer {
			n, err := f.parse(x.String())
			if err != nil {
				return nil, err
			}
			return n, f.check(n)
		}
	case string:
		if f.kind == text || f.kind == number {
			s, err := f.parse(x)
			if err != nil {
				return nil, err
			}
			return s, f.check(s)
		}
	}
	return nil, fmt.Errorf("expected %s, found %s", f.expected(), raw)
}

// parse reads a text as the field's kind.
func (f field) parse(s string) (any, error) {
	switch f.kind {
	case boolean:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return nil, fmt.Errorf("expected %s, found %q", f.expected(), s)
		}
		return b, nil
	case integer:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		x, err := parseNumber(s) // 1e3 and 8.0 are whole numbers too
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return nil, fmt.Errorf("expected %s, found %s", f.expected(), s)
		}
		return int64(x), nil
	case number:
		x, err := parseNumber(s)
		if err != nil {
			return nil, fmt.Errorf("expected %s, found %q", f.expected(), s)
		}
		return x, nil
	}
	return s, nil
}

// parseNumber reads a number, "inf" or "-inf"; NaN is none.
func parseNumber(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("expected a number, found %q", s)
	}
	return x, nil
}

// check tells whether a value is one that the tags allow.
func (f field) check(v any) error {
	switch x := v.(type) {
	case string:
		if f.enum != nil && !slices.Contains(f.enum, x) {
			return fmt.Errorf("expected %s, found %q%s", f.expected(), x, perhaps(x, f.enum))
		}
	case int64:
		return f.within(float64(x), strconv.FormatInt(x, 10))
	case float64:
		return f.within(x, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return nil
}

func (f field) within(x float64, shown string) error {
	if f.min != nil && x < *f.min || f.max != nil && x > *f.max {
		return fmt.Errorf("expected %s, found %s", f.expected(), shown)
	}
	return nil
}

// set writes a value into its field, unless the field's type is too narrow.
func set(to reflect.Value, v any) error {
	switch x := v.(type) {
	case []any:
		list := reflect.MakeSlice(to.Type(), len(x), len(x))
		for i, entry := range x {
			if err := set(list.Index(i), entry); err != nil {
				return fmt.Errorf("entry %d: %w", i, err)
			}
		}
		to.Set(list)
	case bool:
		to.SetBool(x)
	case int64:
		if to.OverflowInt(x) {
			return fmt.Errorf("expected a whole number of %d bits, found %d", to.Type().Bits(), x)
		}
		to.SetInt(x)
	case float64:
		if to.OverflowFloat(x) {
			return fmt.Errorf("expected a number of %d bits, found %g", to.Type().Bits(), x)
		}
		to.SetFloat(x)
	case string:
		to.SetString(x)
	}
	return nil
}
