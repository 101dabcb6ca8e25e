package options_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

type PerStep struct {
	K     int `option:"k" default:"2" min:"1" help:"positions opened in a step"`
	Notes []string
}

type strictness struct {
	Strict bool `option:"strict" default:"true"`
}

type Ordered struct {
	PerStep
	Proxy string `option:"proxy" default:"entropy" enum:"entropy,margin"`
}

// embedding has options at three depths, one of them of an unexported struct.
type embedding struct {
	Gamma float64 `option:"gamma" default:"inf"`
	Ordered
	strictness
	Named PerStep // a field, not embedded: none of its options are the plugin's
}

// flat has the same options without embedding.
type flat struct {
	Gamma  float64 `option:"gamma" default:"inf"`
	K      int     `option:"k" default:"2" min:"1" help:"positions opened in a step"`
	Proxy  string  `option:"proxy" default:"entropy" enum:"entropy,margin"`
	Strict bool    `option:"strict" default:"true"`
}

// golden is the schema of both.
const golden = `{"additionalProperties":false,"properties":{` +
	`"gamma":{"default":"inf","pattern":"^[+-]?(inf|(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?)$","type":["number","string"]},` +
	`"k":{"default":2,"description":"positions opened in a step","minimum":1,"type":"integer"},` +
	`"proxy":{"default":"entropy","enum":["entropy","margin"],"type":"string"},` +
	`"strict":{"default":true,"type":"boolean"}},"type":"object"}`

func TestEmbeddedSchema(t *testing.T) {
	for name, schema := range map[string]func() ([]byte, error){"embedding": options.Schema[embedding], "flat": options.Schema[flat]} {
		got, err := schema()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(golden, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever is given, an embedding struct takes it, and refuses it, as the flat one does.
func TestParseEmbedded(t *testing.T) {
	for _, given := range []string{`{}`, `{"k": 7, "proxy": "margin", "strict": false, "gamma": 0.5}`, `{"k": 0, "proxy": "x", "strict": 3, "gama": 1, "whatever": 2}`} {
		want, wantErr := options.Parse[flat]([]byte(given))
		o, err := options.Parse[embedding]([]byte(given))
		if diff := cmp.Diff(wantErr, err); diff != "" {
			t.Errorf("%s: error (-flat +embedding):\n%s", given, diff)
		}
		got := flat{Gamma: o.Gamma, K: o.K, Proxy: o.Proxy, Strict: o.Strict}
		if diff := cmp.Diff(want, got); wantErr == nil && diff != "" {
			t.Errorf("%s (-flat +embedding):\n%s", given, diff)
		}
		if o.Named.K != 0 {
			t.Errorf("%s: a field that is not embedded was set to %d", given, o.Named.K)
		}
	}
}

// An embedded type that is no struct holds no options, and one with a tag is an option itself.
func TestEmbeddedThatIsNoStruct(t *testing.T) {
	type Level int
	type loose struct{ Level }
	if got, err := options.Schema[loose](); err != nil || strings.Contains(string(got), "evel") {
		t.Errorf("%s, %v", got, err)
	}
	o, err := options.Parse[struct {
		Level `option:"level" default:"4"`
	}](nil)
	if err != nil || o.Level != 4 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestEmbeddedThatAreWrong(t *testing.T) {
	type twice struct {
		K     int `option:"k"`
		Count int `option:"k"`
	}
	type shadowing struct {
		K int `option:"k"`
		Ordered
	}
	type Other struct {
		Each int `option:"k"`
	}
	type siblings struct {
		Ordered
		Other
	}
	type inner struct {
		twice
	}
	type pointer struct {
		*Ordered
	}
	type tagged struct {
		Ordered `option:"ordered"`
	}
	type Hidden struct {
		_ int `option:"k"`
	}
	type outer struct {
		Hidden
	}
	for name, c := range map[string]struct {
		schema func() ([]byte, error)
		want   string
	}{
		"one struct":       {options.Schema[twice], "options type options_test.twice: option k: expected one field of that name, found options_test.twice.K and options_test.twice.Count; rename one or leave one out"},
		"shadowed":         {options.Schema[shadowing], "options type options_test.shadowing: option k: expected one field of that name, found options_test.shadowing.K and options_test.PerStep.K; rename one or leave one out"},
		"two embedded":     {options.Schema[siblings], "options type options_test.siblings: option k: expected one field of that name, found options_test.PerStep.K and options_test.Other.Each; rename one or leave one out"},
		"inside embedded":  {options.Schema[inner], "options type options_test.twice: option k: expected one field of that name"},
		"pointer":          {options.Schema[pointer], "options field options_test.pointer.Ordered: expected a struct embedded by value, found the pointer *options_test.Ordered; embed options_test.Ordered"},
		"embedded, tagged": {options.Schema[tagged], `options field options_test.tagged.Ordered: expected an exported bool, integer, float or string, or a slice of one, with a name in its option tag, found "ordered" of type options_test.Ordered`},
		"unexported":       {options.Schema[outer], `options field options_test.Hidden._: expected an exported bool, integer, float or string`},
	} {
		if _, err := c.schema(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error\n%v, want\n%s", name, err, c.want)
		}
	}
	if _, err := options.Parse[pointer](nil); err == nil {
		t.Error("an embedded pointer was parsed")
	}
}
