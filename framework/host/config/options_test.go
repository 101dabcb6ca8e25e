package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

const schema = `{"type": "object", "additionalProperties": false, "properties": {
	"gamma": {"type": "number", "minimum": 0, "default": 0.1},
	"proxy": {"type": "string", "enum": ["entropy", "confidence", "margin"]},
	"k": {"type": "integer", "minimum": 1},
	"strict": {"type": "boolean"},
	"weights": {"type": "array", "items": {"type": "number"}}}}`

func where(name string) (string, config.Origin) {
	return "planner." + name, config.Origin{Layer: config.LayerFlag, Place: "--set planner." + name}
}

func TestOptionsTakeTheirTypes(t *testing.T) {
	got, err := config.ValidateOptions(schema, map[string]any{
		"gamma": config.Text("1e-1"), "proxy": config.Text("margin"), "k": 3, "strict": config.Text("true"), "weights": config.Text("[1, 2.5]"),
	}, where)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"gamma": 0.1, "proxy": "margin", "k": 3, "strict": true, "weights": []any{1, 2.5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOptionsAllProblemsAtOnce(t *testing.T) {
	_, err := config.ValidateOptions(schema, map[string]any{
		"gama": config.Text("1"), "proxy": config.Text("entropie"), "k": config.Text("0"), "gamma": config.Text("much"),
	}, where)
	want := `configuration: 4 problems
  --set planner.gama: planner.gama: unknown option; did you mean gamma?
  --set planner.gamma: planner.gamma: got string, want number
  --set planner.k: planner.k: minimum: got 0, want 1
  --set planner.proxy: planner.proxy: value must be one of 'entropy', 'confidence', 'margin'`
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("%v", err)
	}
	_, err = config.ValidateOptions("", map[string]any{"k": 1}, where)
	if want := "configuration: --set planner.k: planner.k: unknown option; this plugin has no options"; err == nil || err.Error() != want {
		t.Errorf("expected %q, found %v", want, err)
	}
}
