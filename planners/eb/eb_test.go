package eb_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/eb"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

//go:embed testdata/golden.json
var golden []byte

func TestAgainstReference(t *testing.T) {
	var cases []struct {
		Options               json.RawMessage
		P1, P2, Entropy, Logp []float32
		Eligible              []bool
		Open                  []int32
	}
	if err := json.Unmarshal(golden, &cases); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		p := eb.New()
		try.Start(t, p, string(c.Options))
		row := try.Row(try.Blank(len(c.P1)), 0, len(c.P1))
		row.P1, row.P2, row.Entropy, row.LogpProposal = c.P1, c.P2, c.Entropy, c.Logp
		for j, is := range c.Eligible {
			if !is {
				row.Flags[j] = sampling.Masked
			}
		}
		slices.Sort(c.Open)
		if diff := cmp.Diff(c.Open, try.Ask(t, p, row).Open); diff != "" {
			t.Errorf("case %d %s (-reference +ours):\n%s", i, c.Options, diff)
		}
	}
}

func ask(t testing.TB, options string, p1, p2, h []float32) []int32 {
	p := eb.New()
	try.Start(t, p, options)
	row := try.Row(try.Blank(len(h)), 0, len(h))
	row.P1, row.P2, row.Entropy = p1, p2, h
	return try.Ask(t, p, row).Open
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, options string
		entropy       []float32
		want          []int32
	}{
		{"gamma 0 opens one uncertain position", `{"gamma":0}`, []float32{0.3, 0.2, 0.4}, []int32{1}},
		{"gamma 0 takes the certain ones along", `{"gamma":0}`, []float32{0.3, 0, 0.2, 0}, []int32{1, 2, 3}},
		{"gamma inf opens everything", `{"gamma":"inf"}`, []float32{3, 2, 5}, []int32{0, 1, 2}},
		{"the largest entropy is not counted", `{"gamma":0.1}`, []float32{9, 0.1, 0.05}, []int32{1, 2}},
		{"a sum at the bound passes", `{"gamma":0.5}`, []float32{0.25, 7, 0.25}, []int32{0, 1, 2}},
		{"ties go to the lower position", `{"gamma":0.5}`, []float32{0.5, 0.5, 0.5, 0.5}, []int32{0, 1}},
		{"the default is 0.1", `{}`, []float32{0.0625, 0.0625, 0.0625}, []int32{0, 1}},
		{"no position, no opening", `{}`, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ask(t, c.options, nil, nil, c.entropy), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, options := range []string{`{"gamma":-0.1}`, `{"gamma":"NaN"}`, `{"proxy":"p1"}`, `{"max_per_step":2,"min_per_step":3}`, `{"max_entropy":-1}`,
		`{"stats_on":"tempered"}`} {
		if _, err := eb.New().Start(context.Background(), sampling.Run{Options: []byte(options)}); err == nil {
			t.Errorf("options %s were accepted", options)
		}
	}
}

func TestNeedsFollowTheProxy(t *testing.T) {
	for options, want := range map[string]string{
		`{"proxy":"entropy"}`:                                               "entropy(on=model)",
		`{"stats_on":"sampling"}`:                                           "entropy(on=sampling)",
		`{"proxy":"confidence"}`:                                            "p1, entropy(on=model)",
		`{"proxy":"confidence","confidence":"drawn"}`:                       "logp_proposal(on=model), entropy(on=model)",
		`{"proxy":"margin","confidence":"drawn"}`:                           "p1, p2, entropy(on=model)",
		`{"proxy":"margin","stats_on":"sampling"}`:                          "p1(on=sampling), p2(on=sampling), entropy(on=sampling)",
		`{"proxy":"confidence","stats_on":"sampling"}`:                      "p1(on=sampling), entropy(on=sampling)",
		`{"proxy":"confidence","stats_on":"sampling","confidence":"drawn"}`: "logp_proposal(on=sampling), entropy(on=sampling)",
	} {
		if got := try.Start(t, eb.New(), options).String(); got != want {
			t.Errorf("%s needs %s, want %s", options, got, want)
		}
	}
}

// With two tokens the three proxies order alike, so they open alike. Probabilities are apart enough for float32.
func TestProxiesAgreeOnTwoTokens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		grid := rapid.SliceOfNDistinct(rapid.IntRange(501, 999), 1, 30, rapid.ID[int]).Draw(rt, "p1/1000")
		p1, p2, h := make([]float32, len(grid)), make([]float32, len(grid)), make([]float32, len(grid))
		for i, g := range grid {
			p := float64(g) / 1000
			p1[i], p2[i], h[i] = float32(p), float32(1-p), float32(binaryEntropy(p))
		}
		gamma, _ := json.Marshal(rapid.Float64Range(0, 5).Draw(rt, "gamma"))
		want := ask(t, `{"gamma":`+string(gamma)+`}`, p1, p2, h)
		for _, proxy := range []string{"confidence", "margin"} {
			if diff := cmp.Diff(want, ask(t, `{"proxy":"`+proxy+`","gamma":`+string(gamma)+`}`, p1, p2, h)); diff != "" {
				rt.Fatalf("entropy and %s (-entropy +%s):\n%s", proxy, proxy, diff)
			}
		}
	})
}

// binaryEntropy is -p ln p - (1-p) ln(1-p), nats.
func binaryEntropy(p float64) float64 { return -p*math.Log(p) - (1-p)*math.Log1p(-p) }
