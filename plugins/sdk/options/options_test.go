package options_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

type settings struct {
	K      int     `option:"k" default:"2" min:"1" max:"64" help:"positions opened in a step"`
	Small  int32   `option:"small"`
	Gamma  float64 `option:"gamma" default:"0.1" min:"0"`
	Cap    float32 `option:"cap" default:"inf"`
	Proxy  string  `option:"proxy" default:"entropy" enum:"entropy,margin"`
	Strict bool    `option:"strict" default:"true"`
}

var defaults = settings{K: 2, Gamma: .1, Cap: float32(math.Inf(1)), Proxy: "entropy", Strict: true}

func with(change func(*settings)) settings {
	s := defaults
	change(&s)
	return s
}

// TestParse also checks that the schema and the parser agree on what is valid.
func TestParse(t *testing.T) {
	schema, err := options.Schema[settings]()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("options.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("options.json")
	if err != nil {
		t.Fatal(err)
	}
	for given, c := range map[string]struct {
		want  settings
		err   string
		loose bool // the schema cannot say what is wrong
	}{
		`{}`:                        {want: defaults},
		`{"k": 8, "strict": false}`: {want: with(func(s *settings) { s.K, s.Strict = 8, false })},
		`{"k": 8.0, "gamma": 1e-3}`: {want: with(func(s *settings) { s.K, s.Gamma = 8, 1e-3 })},
		`{"gamma": "inf"}`:          {want: with(func(s *settings) { s.Gamma = math.Inf(1) })},
		`{"gamma": "0.25"}`:         {want: with(func(s *settings) { s.Gamma = .25 })},
		`{"proxy": "margin"}`:       {want: with(func(s *settings) { s.Proxy = "margin" })},
		`{"k": 0}`:                  {err: "option k: expected a whole number from 1 to 64, found 0"},
		`{"k": 65}`:                 {err: "option k: expected a whole number from 1 to 64, found 65"},
		`{"k": 1.5}`:                {err: "option k: expected a whole number from 1 to 64, found 1.5"},
		`{"k": "2"}`:                {err: `option k: expected a whole number from 1 to 64, found "2"`},
		`{"k": null}`:               {err: "option k: expected a whole number from 1 to 64, found null"},
		`{"small": 4294967296}`:     {err: "option small: expected a whole number of 32 bits, found 4294967296", loose: true},
		`{"cap": 1e39}`:             {err: "option cap: expected a number of 32 bits, found 1e+39", loose: true},
		`{"gamma": "-inf"}`:         {err: "option gamma: expected a number of at least 0, found -Inf", loose: true},
		`{"gamma": "NaN"}`:          {err: `option gamma: expected a number of at least 0, found "NaN"`},
		`{"proxy": "entropi"}`:      {err: `option proxy: expected one of entropy, margin, found "entropi"; did you mean entropy?`},
		`{"proxy": "surprise"}`:     {err: `option proxy: expected one of entropy, margin, found "surprise"`},
		`{"strict": 1}`:             {err: "option strict: expected true or false, found 1"},
		`{"gama": 1, "k": -1}`:      {err: "option k: expected a whole number from 1 to 64, found -1; option gama: unknown; did you mean gamma?"},
		`{"whatever": 1}`:           {err: "option whatever: unknown; the options are k, small, gamma, cap, proxy, strict"},
	} {
		got, err := options.Parse[settings]([]byte(given))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error\n%v, want\n%s", given, err, c.err)
			}
		} else if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", given, err, diff)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(given))
		if err != nil {
			t.Fatal(err)
		}
		if valid := compiled.Validate(value) == nil; valid != (c.err == "") && !c.loose {
			t.Errorf("%s: the schema says valid = %v", given, valid)
		}
	}
}

func TestParseTakesNothingAsDefaults(t *testing.T) {
	for _, given := range []string{"", "null", " "} {
		if got, err := options.Parse[settings]([]byte(given)); err != nil || got != defaults {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
	for given, want := range map[string]string{`[]`: "expected a JSON object", `{} {}`: "nothing after it", `{`: "expected a JSON object"} {
		if _, err := options.Parse[settings]([]byte(given)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", given, err, want)
		}
	}
}

func TestSchema(t *testing.T) {
	raw, err := options.Schema[settings]()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Properties map[string]map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	delete(got.Properties["gamma"], "pattern")
	delete(got.Properties["cap"], "pattern")
	want := map[string]map[string]any{
		"k":      {"type": "integer", "default": 2., "minimum": 1., "maximum": 64., "description": "positions opened in a step"},
		"small":  {"type": "integer", "default": 0.},
		"gamma":  {"type": []any{"number", "string"}, "default": .1, "minimum": 0.},
		"cap":    {"type": []any{"number", "string"}, "default": "inf"},
		"proxy":  {"type": "string", "default": "entropy", "enum": []any{"entropy", "margin"}},
		"strict": {"type": "boolean", "default": true},
	}
	if diff := cmp.Diff(want, got.Properties); diff != "" {
		t.Error(diff)
	}
}

func TestTagsThatAreWrong(t *testing.T) {
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := options.Schema[struct {
		K int `option:"k" default:"0" min:"1"`
	}]()
	check(err, "tag default: expected a whole number of at least 1, found 0")
	_, err = options.Schema[struct {
		K map[string]int `option:"k"`
	}]()
	check(err, "expected an exported bool, integer, float or string, or a slice of one, with a name")
	_, err = options.Schema[struct {
		K []int `option:"k" default:"1,few"`
	}]()
	check(err, "tag default: expected a whole number, found few")
	_, err = options.Schema[struct {
		K int `option:"k" min:"few"`
	}]()
	check(err, `tag min: expected a number, found "few"`)
	_, err = options.Schema[int]()
	check(err, "expected a struct")
}

// FuzzParse: whatever comes, options are valid or an error is told, and valid options are within their bounds.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"k": 3, "gamma": "inf"}`, `{"k": 1e400}`, `{"small": 9e18}`, `{"cap": 1e39}`, `{"k":`, `nul`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, given []byte) {
		o, err := options.Parse[settings](given)
		if err == nil && (o.K < 1 || o.K > 64 || !(o.Gamma >= 0) || o.Cap != o.Cap || o.Proxy != "entropy" && o.Proxy != "margin") {
			t.Fatalf("%s: %+v", given, o)
		}
	})
}
