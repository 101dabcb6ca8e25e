package family

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/mdmhost/mdmhost/framework/network"
)

// ours are networks of this framework, as exports to PyTorch and transformers hold them and as both save them after training: no ONNX file
// is beside them. Keys are those of [network.Config], and tensors have the names of [network.Params].
var ours = &family{
	keys: func(d *draft) keys {
		said := map[string]any{}
		d.more = said
		out := keys{}
		for _, f := range reflect.VisibleFields(reflect.TypeFor[network.Config]()) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out[name] = func(value any) error {
				if value != nil {
					said[name] = value
				}
				return nil
			}
		}
		return out
	},
	settle: func(d *draft) (found problems) {
		text, err := json.Marshal(d.more)
		if err == nil {
			err = json.Unmarshal(text, &d.Config)
		}
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			found.add(wrong.Field, "is a %s, expected a %s", wrong.Value, wrong.Type)
		} else if err != nil {
			found.add("model_type", "%w", err)
		}
		return found
	},
	head: "head",
}

// Ours tells whether the model is a network of this framework already. Then its mdm.json and generation_config.json count, too.
func (r *Recipe) Ours() bool { return r.family == ours }

// match finds the line of a tensor and the names of its parameters.
func (r *Recipe) match(name string) (found line, to []string, ok bool) {
	if name = r.family.plain(name); r.Ours() {
		return line{}, []string{name}, true
	}
	return match(r.lines(), name)
}
