package options_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		schema func() ([]byte, error)
		want   []string
	}{
		{options.Schema[settings], []string{"cap: number, default \"inf\"", "gamma: number from 0, default 0.1",
			"k: integer from 1 to 64, default 2: positions opened in a step", "proxy: one of entropy, margin, default \"entropy\"",
			"small: integer, default 0", "strict: boolean, default true"}},
		{options.Schema[lists], []string{"counts: list of integer from 1, default [1,2,4]", "limits: list of number from 0, default [0.5,\"inf\"]: entropies in nats",
			"words: list of one of calm, sure, default []"}},
		{options.Schema[struct{}], nil},
		{func() ([]byte, error) { return nil, nil }, nil},
		{func() ([]byte, error) {
			return []byte(`{"properties": {"a": {}, "b": {"type": ["null", "boolean"]}}}`), nil
		}, []string{"a: ", "b: null or boolean"}},
	} {
		schema, err := c.schema()
		if err != nil {
			t.Fatal(err)
		}
		all, err := options.Describe(string(schema))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range all {
			got = append(got, d.Name+": "+d.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", schema, diff)
		}
	}
	if _, err := options.Describe(`[]`); err == nil {
		t.Error("a schema that is a list was described")
	}
}

// FuzzDescribe: a schema is anybody's; it is described or refused.
func FuzzDescribe(f *testing.F) {
	for _, seed := range []string{`{"properties":{"k":{"type":"integer","minimum":1}}}`, `{"properties":{"k":{"type":["number","string"],"items":{"enum":[1]}}}}`, `{"properties":[]}`, ``} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		all, err := options.Describe(schema)
		if err != nil && all != nil {
			t.Fatalf("%q: %v and %v", schema, all, err)
		}
	})
}
