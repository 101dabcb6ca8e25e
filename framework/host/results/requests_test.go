package results_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

func load(t *testing.T, set ...config.Assignment) *config.Config {
	t.Helper()
	c, err := config.Load(config.Sources{Flags: set})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequests(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	cfg := load(t, config.Assignment{Key: "num", Value: "2"}, config.Assignment{Key: "length", Value: "3"}, config.Assignment{Key: "steps", Value: "2"},
		config.Assignment{Key: "sampling.temperature", Value: "0.5"}, config.Assignment{Key: "sampling.top_k", Value: "4"})
	asked := []results.Question{
		{Kind: results.Prompt, Text: "CC", Place: "a"}, {Kind: results.Infill, Text: "C[MASK]C", Place: "b"}, {Kind: results.Tokens, Tokens: []int32{14}, Place: "c"},
	}
	rows, notes, err := results.Requests(m, cfg, asked)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	params := sampling.Params{Temperature: 0.5, TopK: 4, TopP: 1}
	var want []sampling.Request
	for i, tokens := range [][]int32{{12, 16, 16, 14, 14, 14, 13}, {12, 16, 14, 16, 13}, {14}} {
		fixed := make([]bool, len(tokens))
		for j, id := range tokens {
			fixed[j] = id != 14
		}
		for j := range 2 {
			want = append(want, sampling.Request{Index: int64(2*i + j), Tokens: tokens, Fixed: fixed, Steps: 2, Params: params})
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}

	_, _, err = results.Requests(m, cfg, []results.Question{{Kind: results.Prompt, Text: "C[MASK]", Place: "f:1"}, {Kind: results.Tokens, Tokens: []int32{-1, 700}, Place: "f:2"}, asked[0]})
	var bad *results.InputError
	if !errors.As(err, &bad) || len(bad.Problems) != 2 || !strings.HasPrefix(bad.Problems[0], "f:1: prompt: has the mask") || !strings.HasPrefix(bad.Problems[1], "f:2: tokens: ") {
		t.Errorf("%v", err)
	}
}

// Nothing asked: the model's examples, or rows of the length that was given.
func TestRequestsOfNothing(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := results.Requests(m, load(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	examples, err := results.ReadQuestions("examples", strings.NewReader(string(m.Examples)))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(examples) {
		t.Errorf("%d rows for %d examples", len(rows), len(examples))
	}
	rows, _, err = results.Requests(m, load(t, config.Assignment{Key: "length", Value: "2"}), nil)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if diff := cmp.Diff([]int32{12, 14, 14, 13}, rows[0].Tokens); diff != "" {
		t.Error(diff)
	}
}

// A stop rule cuts rows behind it, so text that was given there is refused; the template's own end is not text.
func TestStopRulesWantNothingBehindTheBlanks(t *testing.T) {
	m, err := model.Open("rxnmapper-albert")
	if err != nil {
		t.Fatal(err)
	}
	asked := []results.Question{{Kind: results.Prompt, Text: "CC", Place: "a"}, {Kind: results.Infill, Text: "C[MASK]C", Place: "b"}, {Kind: results.Infill, Text: "C[MASK]", Place: "c"},
		{Kind: results.Tokens, Tokens: []int32{14, 14, 16, 14}, Place: "d"}, {Kind: results.Tokens, Tokens: []int32{16, 13}, Place: "e"}}
	for _, rule := range []config.Assignment{{Key: "sampling.stop", Value: "O"}, {Key: "sampling.eos_early_stop", Value: "true"}} {
		_, _, err := results.Requests(m, load(t, config.Assignment{Key: "length", Value: "3"}, rule), asked)
		var bad *results.InputError
		if !errors.As(err, &bad) || len(bad.Problems) != 2 || !strings.HasPrefix(bad.Problems[0], "b: position 3 is given, and a stop rule may cut it off") || !strings.HasPrefix(bad.Problems[1], "d: position 2 ") {
			t.Errorf("%s: %v", rule.Key, err)
		}
	}
	if _, _, err := results.Requests(m, load(t, config.Assignment{Key: "length", Value: "3"}), asked); err != nil {
		t.Error(err)
	}
}
