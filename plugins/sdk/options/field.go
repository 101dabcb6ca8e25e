// Package options reads the options of plugins: a plain struct whose tags say everything that a user may set.
//
//	type Options struct {
//		K     int     `option:"k" default:"1" min:"1" help:"positions opened in a step"`
//		Gamma float64 `option:"gamma" default:"0.1" min:"0" help:"error tolerance in nats; inf opens everything"`
//		Proxy string  `option:"proxy" default:"entropy" enum:"entropy,confidence,margin" help:"order of opening"`
//	}
//
// Fields are bool, int, int32, int64, float32, float64 or string, or slices of these. A field without a default starts at its zero
// value. Floating point options also take the texts "inf" and "-inf", which JSON has no number for. What is said of a slice (min,
// max, enum) is said of each of its entries; its default is a list with commas, such as default:"0.5,0.9". A user sets it as
// planner.limits=[0.2,0.4]. A text with file:"true" names a file, which servers let nobody else do.
//
// Options that several plugins share are a struct of their own, which each embeds by value, to any depth. Its options
// come among the others under their own names, and Go promotes its fields. To the user nothing tells them apart:
//
//	type Proxy struct {
//		Proxy string `option:"proxy" default:"entropy" enum:"entropy,confidence,margin" help:"order of opening"`
//	}
//
//	type Options struct {
//		shared.Proxy
//		K int `option:"k" default:"1" min:"1" help:"positions opened in a step"`
//	}
//
// No two options of a struct may have the same name. What an embedded struct says stands: a plugin that wants another
// default declares the option itself, or embeds another struct.
package options

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one option of a struct.
type field struct {
	name     string
	kind     kind
	help     string
	enum     []string
	min, max *float64
	preset   any    // the default: bool, int64, float64 or string, or a []any of them
	list     bool   // the other fields are of each entry
	file     bool   // it names one
	index    []int  // from the outermost struct, for reflect's FieldByIndex
	declared string // where, for errors
}

type kind string

const (
	boolean kind = "boolean"
	integer kind = "integer"
	number  kind = "number"
	text    kind = "string"
)

var kinds = map[reflect.Kind]kind{
	reflect.Bool: boolean, reflect.String: text, reflect.Float32: number, reflect.Float64: number,
	reflect.Int: integer, reflect.Int32: integer, reflect.Int64: integer,
}

// fields reads the tags of a struct and of the structs that it embeds. Its errors are mistakes of the plugin's author.
func fields(t reflect.Type) ([]field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("options type %s: expected a struct", t)
	}
	var out []field
	for i := range t.NumField() {
		found, err := fieldsAt(t, t.Field(i))
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if same := slices.IndexFunc(out, func(g field) bool { return g.name == f.name }); same >= 0 {
				return nil, fmt.Errorf("options type %s: option %s: expected one field of that name, found %s and %s; rename one or leave one out", t, f.name, out[same].declared, f.declared)
			}
			f.index = append([]int{i}, f.index...)
			out = append(out, f)
		}
	}
	return out, nil
}

// fieldsAt returns the options of one field of the struct t: its own, those of an embedded struct, or none.
func fieldsAt(t reflect.Type, sf reflect.StructField) ([]field, error) {
	declared := t.String() + "." + sf.Name
	_, option := sf.Tag.Lookup("option")
	switch {
	case option:
		f, err := read(sf)
		if err != nil {
			return nil, fmt.Errorf("options field %s: %w", declared, err)
		}
		f.declared = declared
		return []field{f}, nil
	case sf.Anonymous && sf.Type.Kind() == reflect.Pointer:
		return nil, fmt.Errorf("options field %s: expected a struct embedded by value, found the pointer %s; embed %s", declared, sf.Type, sf.Type.Elem())
	case sf.Anonymous && sf.Type.Kind() == reflect.Struct:
		return fields(sf.Type)
	}
	return nil, nil
}

// read reads the tags of one option.
func read(sf reflect.StructField) (field, error) {
	name := sf.Tag.Get("option")
	f := field{name: name, kind: kinds[sf.Type.Kind()], help: sf.Tag.Get("help"), list: sf.Type.Kind() == reflect.Slice, file: sf.Tag.Get("file") == "true"}
	if f.list {
		f.kind = kinds[sf.Type.Elem().Kind()]
	}
	if name == "" || f.kind == "" || !sf.IsExported() {
		return f, fmt.Errorf("expected an exported bool, integer, float or string, or a slice of one, with a name in its option tag, found %q of type %s", name, sf.Type)
	}
	if tag, ok := sf.Tag.Lookup("enum"); ok {
		f.enum = strings.Split(tag, ",")
	}
	for tag, to := range map[string]**float64{"min": &f.min, "max": &f.max} {
		if v, ok := sf.Tag.Lookup(tag); ok {
			x, err := parseNumber(v)
			if err != nil {
				return f, fmt.Errorf("tag %s: %w", tag, err)
			}
			*to = &x
		}
	}
	f.preset = map[kind]any{boolean: false, integer: int64(0), number: 0.0, text: ""}[f.kind]
	given, ok := sf.Tag.Lookup("default")
	if !ok && !f.list {
		return f, nil
	}
	var entries []any
	for _, part := range f.split(given) {
		entry, err := f.parse(part)
		if err == nil {
			err = f.check(entry)
		}
		if err != nil {
			return f, fmt.Errorf("tag default: %w", err)
		}
		entries = append(entries, entry)
	}
	if f.preset = any(entries); !f.list {
		f.preset = entries[0]
	}
	return f, nil
}

// split returns the entries of a tag: of a list those between commas, else the text itself.
func (f field) split(tag string) []string {
	switch {
	case !f.list:
		return []string{tag}
	case tag == "":
		return nil
	}
	return strings.Split(tag, ",")
}
