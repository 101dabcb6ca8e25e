package pytorch_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/exporters/pytorch"
	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/network"
)

// required are the keys without a default, and those that no network's answers depend on.
var (
	required = []string{"model_type", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings"}
	silent   = []string{"head_init", "initializer_range"}
)

// keys are those of config.json that a type has.
func keys(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		} else if f.Anonymous {
			out = append(out, keys(f.Type)...)
		}
	}
	return out
}

// model.py says what every key of a network's config.json is when it is left out, and each is held against ONNX Runtime: a new one is not
// passed over in silence.
func TestEveryKeyIsKnownAndCompared(t *testing.T) {
	text := string(pytorch.Script("model.py"))
	_, text, _ = strings.Cut(text, "DEFAULTS = {\n")
	text, _, _ = strings.Cut(text, "\n}\n")
	known := slices.Clone(required)
	for _, m := range regexp.MustCompile(`(?m)^    "([a-z_]+)": `).FindAllStringSubmatch(text, -1) {
		known = append(known, m[1])
	}
	want := keys(reflect.TypeFor[network.Config]())
	slices.Sort(known)
	slices.Sort(want)
	if !slices.Equal(want, known) {
		t.Errorf("model.py knows %q, a network has %q", known, want)
	}

	var golden knobs
	goldenfile.Read(t, "testdata/knobs.json.gz", &golden)
	compared := slices.Clone(silent)
	for _, g := range golden.Networks {
		var c map[string]any
		if err := json.Unmarshal(g.Config, &c); err != nil {
			t.Fatal(err)
		}
		for key := range c {
			compared = append(compared, key)
		}
	}
	for _, key := range want {
		if !slices.Contains(compared, key) {
			t.Errorf("%s: is in none of the networks of testdata/knobs.py", key)
		}
	}
}
