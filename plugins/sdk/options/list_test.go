package options_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

type lists struct {
	Limits []float64 `option:"limits" default:"0.5,inf" min:"0" help:"entropies in nats"`
	Words  []string  `option:"words" enum:"calm,sure"`
	Counts []int32   `option:"counts" default:"1,2,4" min:"1"`
}

func TestLists(t *testing.T) {
	for given, want := range map[string]lists{
		`{}`: {Limits: []float64{.5, math.Inf(1)}, Words: []string{}, Counts: []int32{1, 2, 4}},
		`{"limits": [], "words": ["sure", "sure"], "counts": [8.0]}`: {Limits: []float64{}, Words: []string{"sure", "sure"}, Counts: []int32{8}},
		`{"limits": [1, "inf", "0.25"]}`:                             {Limits: []float64{1, math.Inf(1), .25}, Words: []string{}, Counts: []int32{1, 2, 4}},
	} {
		got, err := options.Parse[lists]([]byte(given))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", given, err, diff)
		}
	}
	for given, want := range map[string]string{
		`{"limits": 1}`:            "option limits: expected a list of entries, each a number of at least 0, found 1",
		`{"limits": null}`:         "option limits: expected a list of entries, each a number of at least 0, found null",
		`{"limits": [1, -1]}`:      "option limits: entry 1: expected a number of at least 0, found -1",
		`{"words": ["clam"]}`:      `option words: entry 0: expected one of calm, sure, found "clam"; did you mean calm?`,
		`{"words": [["calm"]]}`:    `option words: entry 0: expected one of calm, sure, found ["calm"]`,
		`{"counts": [4294967296]}`: "option counts: entry 0: expected a whole number of 32 bits, found 4294967296",
	} {
		if _, err := options.Parse[lists]([]byte(given)); err == nil || err.Error() != want {
			t.Errorf("%s: error\n%v, want\n%s", given, err, want)
		}
	}
}

func TestSchemaOfLists(t *testing.T) {
	got, err := options.Schema[lists]()
	want := `{"additionalProperties":false,"properties":{` +
		`"counts":{"default":[1,2,4],"items":{"minimum":1,"type":"integer"},"type":"array"},` +
		`"limits":{"default":[0.5,"inf"],"description":"entropies in nats","items":{"minimum":0,"pattern":"^[+-]?(inf|(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?)$","type":["number","string"]},"type":"array"},` +
		`"words":{"default":[],"items":{"enum":["calm","sure"],"type":"string"},"type":"array"}},"type":"object"}`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
