package options

import (
	"encoding/json"
	"math"
	"reflect"
)

// textNumber is the pattern of numbers written as texts: what JSON numbers can say, and the infinities.
const textNumber = `^[+-]?(inf|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)$`

// Schema returns the JSON Schema of a struct of options: one property per option with type, default, description,
// enum, minimum and maximum (of a list: those of its items), and no further properties. Floating point options have the types number and string, the
// string for "inf". The error is a mistake in the struct's tags.
func Schema[O any]() ([]byte, error) {
	fs, err := fields(reflect.TypeFor[O]())
	if err != nil {
		return nil, err
	}
	properties := map[string]any{}
	for _, f := range fs {
		properties[f.name] = f.schema()
	}
	return json.Marshal(map[string]any{"type": "object", "properties": properties, "additionalProperties": false})
}

func (f field) schema() map[string]any {
	p := f.entrySchema()
	if f.list {
		p = map[string]any{"type": "array", "items": p}
	}
	p["default"] = told(f.preset)
	if f.help != "" {
		p["description"] = f.help
	}
	return p
}

// entrySchema is what one value may be.
func (f field) entrySchema() map[string]any {
	p := map[string]any{"type": f.kind}
	if f.kind == number {
		p["type"], p["pattern"] = []kind{number, text}, textNumber
	}
	if f.enum != nil {
		p["enum"] = f.enum
	}
	if f.file {
		p["format"] = "path"
	}
	for name, bound := range map[string]*float64{"minimum": f.min, "maximum": f.max} {
		if bound != nil && !math.IsInf(*bound, 0) {
			p[name] = *bound
		}
	}
	return p
}

// told is a default as JSON can hold it.
func told(preset any) any {
	switch x := preset.(type) {
	case float64:
		if math.IsInf(x, 0) {
			return map[bool]string{true: "inf", false: "-inf"}[x > 0]
		}
	case []any:
		list := make([]any, len(x))
		for i, entry := range x {
			list[i] = told(entry)
		}
		return list
	}
	return preset
}
