package results_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/results"
)

func TestReadQuestions(t *testing.T) {
	got, err := results.ReadQuestions("in.jsonl", strings.NewReader("\ufeff{\"prompt\": \"CC\"}\n\n {\"infill\": \"C[MASK]\"} \r\n{\"tokens\": [12, 14, 13]}"))
	want := []results.Question{
		{Kind: results.Prompt, Text: "CC", Place: "in.jsonl:1"},
		{Kind: results.Infill, Text: "C[MASK]", Place: "in.jsonl:3"},
		{Kind: results.Tokens, Tokens: []int32{12, 14, 13}, Place: "in.jsonl:4"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestBadLinesAllAtOnce(t *testing.T) {
	_, err := results.ReadQuestions("in.jsonl", strings.NewReader(`{"promt": "CC"}
{"prompt": 3}
{"prompt": "a", "infill": "b"}
{"tokens": [1, 2.5]}
{"tokens": [1, -2]}
{"tokens": null}
["a"]
{"prompt": "a"
{"prompt": "a"} {"prompt": "b"}
{}
`+"{\"prompt\": \"\xff\"}"))
	want := `in.jsonl: 11 problems
  in.jsonl:1: promt: unknown key; did you mean prompt?
  in.jsonl:2: prompt: expected a text, found 3
  in.jsonl:3: expected one of prompt, infill and tokens, found prompt and infill; leave one
  in.jsonl:4: tokens: expected a list of token ids, found [1, 2.5]
  in.jsonl:5: tokens: position 1: expected a token id from 0
  in.jsonl:6: tokens: expected a list of token ids, found null
  in.jsonl:7: expected an object such as {"infill": "..."}
  in.jsonl:8: expected a whole JSON object, found the end of the line; close it
  in.jsonl:9: expected one object a line, found more behind it; put each on its own line
  in.jsonl:10: expected one of prompt, infill and tokens, found none
  in.jsonl:11: expected UTF-8, found other bytes; convert the file`
	if err == nil || cmp.Diff(want, err.Error()) != "" {
		t.Errorf("%v", err)
	}
	_, err = results.ReadQuestions("-", strings.NewReader("\n"))
	if want := `-: no rows in it; expected lines such as {"infill": "..."}`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

func FuzzReadQuestions(f *testing.F) {
	for _, seed := range []string{`{"prompt": "CC"}`, `{"infill": "C[MASK]"}` + "\n" + `{"tokens": [1, 2]}`, `{"tokens": [1e9999]}`, "{", `{"a": {"b": [1,2]}}`, `{"prompt":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := results.ReadQuestions("f", strings.NewReader(text))
		if err != nil {
			if bad, ok := err.(*results.InputError); !ok || len(bad.Problems) == 0 {
				t.Errorf("expected an InputError, found %v", err)
			}
			return
		}
		for _, q := range got {
			if q.Kind == "" || q.Place == "" || (q.Kind == results.Tokens) != (q.Tokens != nil) {
				t.Errorf("%+v", q)
			}
		}
	})
}
