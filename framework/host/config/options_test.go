package config_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

const schema = `{"type": "object", "additionalProperties": false, "properties": {
	"gamma": {"type": "number", "minimum": 0, "default": 0.1},
	"proxy": {"type": "string", "enum": ["entropy", "confidence", "margin"]},
	"k": {"type": "integer", "minimum": 1},
	"most": {"type": ["number", "string"]},
	"bound": {"type": ["number", "string"], "minimum": 0, "pattern": "^(inf|[0-9.]+)$"},
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

func TestOptionsOfTwoTypes(t *testing.T) {
	for text, want := range map[string]any{"0.5": 0.5, "3": 3, "inf": "inf", ".inf": ".inf", "true": "true", "a: b": "a: b", "": ""} {
		got, err := config.ValidateOptions(schema, map[string]any{"most": config.Text(text)}, where)
		if diff := cmp.Diff(map[string]any{"most": want}, got); diff != "" || err != nil {
			t.Error(text, diff, err)
		}
	}
	_, err := config.ValidateOptions(schema, map[string]any{"most": math.Inf(1)}, where)
	if want := `configuration: --set planner.most: expected a finite number, found +Inf; where the option takes infinity, write it as the text "inf"`; err == nil || err.Error() != want {
		t.Errorf("expected %q, found %v", want, err)
	}
}

func TestOptionsAllProblemsAtOnce(t *testing.T) {
	_, err := config.ValidateOptions(schema, map[string]any{
		"gama": config.Text("1"), "proxy": config.Text("entropie"), "k": config.Text("0"), "gamma": config.Text("much"), "bound": config.Text("nan"),
	}, where)
	want := `configuration: 5 problems
  --set planner.bound: expected a number (or inf) from 0, found "nan"
  --set planner.gama: unknown option; did you mean gamma?
  --set planner.gamma: expected a number from 0, found "much"
  --set planner.k: expected a whole number from 1, found "0"
  --set planner.proxy: expected entropy, confidence or margin, found "entropie"; did you mean entropy?`
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("%v", err)
	}
	_, err = config.ValidateOptions("", map[string]any{"k": 1}, where)
	if want := "configuration: --set planner.k: unknown option; this plugin has no options"; err == nil || err.Error() != want {
		t.Errorf("expected %q, found %v", want, err)
	}
}
