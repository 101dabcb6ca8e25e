// Package options reads the options of plugins: a plain struct whose tags say everything that a user may set.
//
//	type Options struct {
//		K     int     `option:"k" default:"1" min:"1" help:"positions opened in a step"`
//		Gamma float64 `option:"gamma" default:"0.1" min:"0" help:"error tolerance in nats; inf opens everything"`
//		Proxy string  `option:"proxy" default:"entropy" enum:"entropy,confidence,margin" help:"order of opening"`
//	}
//
// Fields are bool, int, int32, int64, float32, float64 or string. A field without a default starts at its zero value.
// Floating point options also take the texts "inf" and "-inf", which JSON has no number for.
package options

import (
	"fmt"
	"reflect"
	"strings"
)

// field is one option of a struct.
type field struct {
	name     string
	kind     kind
	help     string
	enum     []string
	min, max *float64
	preset   any // the default: bool, int64, float64 or string
	index    int
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

// fields reads the tags of a struct. Its errors are mistakes of the plugin's author.
func fields(t reflect.Type) ([]field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("options type %s: expected a struct", t)
	}
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, ok := sf.Tag.Lookup("option")
		if !ok {
			continue
		}
		f := field{name: name, kind: kinds[sf.Type.Kind()], help: sf.Tag.Get("help"), index: i}
		fail := func(format string, args ...any) ([]field, error) {
			return nil, fmt.Errorf("options field %s.%s: %s", t, sf.Name, fmt.Sprintf(format, args...))
		}
		if name == "" || f.kind == "" || !sf.IsExported() {
			return fail("expected an exported bool, integer, float or string with a name in its option tag, found %q of type %s", name, sf.Type)
		}
		if tag, ok := sf.Tag.Lookup("enum"); ok {
			f.enum = strings.Split(tag, ",")
		}
		for tag, to := range map[string]**float64{"min": &f.min, "max": &f.max} {
			if v, ok := sf.Tag.Lookup(tag); ok {
				x, err := parseNumber(v)
				if err != nil {
					return fail("tag %s: %v", tag, err)
				}
				*to = &x
			}
		}
		f.preset = map[kind]any{boolean: false, integer: int64(0), number: 0.0, text: ""}[f.kind]
		if v, ok := sf.Tag.Lookup("default"); ok {
			d, err := f.parse(v)
			if err == nil {
				err = f.check(d)
			}
			if err != nil {
				return fail("tag default: %v", err)
			}
			f.preset = d
		}
		out = append(out, f)
	}
	return out, nil
}
