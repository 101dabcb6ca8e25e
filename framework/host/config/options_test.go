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

func TestOptionsThatAreLists(t *testing.T) {
	lists := `{"type": "object", "additionalProperties": false, "properties": {
		"levels": {"type": "array", "items": {"type": ["number", "string"], "maximum": 1, "pattern": "^inf$"}},
		"words": {"type": "array", "items": {"type": "string", "enum": ["calm", "sure"]}}, "pairs": {"type": "array", "items": {"type": "array"}}}}`
	got, err := config.ValidateOptions(lists, map[string]any{"levels": config.Text("[0.5, inf]"), "words": config.Text("[calm]")}, where)
	if diff := cmp.Diff(map[string]any{"levels": []any{0.5, "inf"}, "words": []any{"calm"}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = config.ValidateOptions(lists, map[string]any{"levels": config.Text("0.5"), "words": config.Text("[clam, calm, shure]"), "pairs": config.Text("[1]")}, where)
	want := `configuration: 3 problems
  --set planner.levels: expected a list, each entry a number (or inf) up to 1, found "0.5"
  --set planner.pairs: pairs.0: got number, want array
  --set planner.words: expected a list, each entry calm or sure, found "[clam, calm, shure]"`
	if err == nil || err.Error() != want {
		t.Errorf("expected\n%s\nfound\n%v", want, err)
	}
}
