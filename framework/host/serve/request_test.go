package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
)

// What a client writes is what the engine is asked.
func TestRequests(t *testing.T) {
	seed := uint64(1<<64 - 1)
	prompt := func(texts ...string) (out []results.Question) {
		for i, text := range texts {
			out = append(out, results.Question{Kind: results.Prompt, Text: text, Place: nth("prompt", i, len(texts))})
		}
		return out
	}
	set := func(key, value, flag string) config.Assignment {
		return config.Assignment{Key: key, Value: value, Flag: flag}
	}
	for _, c := range []struct {
		kind kind
		body string
		want request
	}{
		{completion, `{}`, request{question: engine.Question{Ask: prompt(""), Num: 1}}},
		{completion, `{"prompt": null, "seed": null, "temperature": null, "stop": null, "planner": null, "stream": null}`, request{question: engine.Question{Ask: prompt(""), Num: 1}}},
		{completion, `{"model": "molecule", "prompt": "CC", "n": 3, "seed": 18446744073709551615, "echo": true, "details": true, "user": "me"}`,
			request{echo: true, details: true, question: engine.Question{Model: "molecule", Ask: prompt("CC"), Num: 3, Seed: &seed}}},
		{completion, `{"prompt": ["a", "b"], "stream": true, "stream_options": {"include_usage": true}}`,
			request{stream: true, usage: true, question: engine.Question{Ask: prompt("a", "b"), Num: 1, Steps: true}}},
		{completion, `{"temperature": 0.5, "top_p": 0.9, "top_k": 4, "min_p": 1e-3, "max_tokens": 12, "steps": 6, "stop": "\n", "planner": "eb"}`,
			request{question: engine.Question{Ask: prompt(""), Num: 1, Settings: []config.Assignment{
				set("length", "12", "max_tokens"), set("sampling.min_p", "1e-3", "min_p"), set("steps", "6", "steps"), set("sampling.temperature", "0.5", "temperature"),
				set("sampling.top_k", "4", "top_k"), set("sampling.top_p", "0.9", "top_p"), set("sampling.stop", `["\n"]`, "stop"), set("planner.name", "eb", "planner"),
			}}}},
		{completion, `{"planner": {"name": "eb", "options": {"gamma": 0.2, "list": [1, 2], "on": true, "proxy": "entropy"}}, "sampler": {"name": "masked"}, "sampling": {"block_length": 8, "stop": ["x"]}}`,
			request{question: engine.Question{Ask: prompt(""), Num: 1, Settings: []config.Assignment{
				set("sampling.block_length", "8", "sampling.block_length"), set("sampling.stop", `["x"]`, "sampling.stop"), set("planner.name", "eb", "planner.name"),
				set("planner.gamma", "0.2", "planner.options.gamma"), set("planner.list", "[1,2]", "planner.options.list"), set("planner.on", "true", "planner.options.on"),
				set("planner.proxy", "entropy", "planner.options.proxy"), set("sampler.name", "masked", "sampler.name"),
			}}}},
		{completion, `{"best_of": 1, "frequency_penalty": 0, "presence_penalty": 0.0, "logit_bias": {}, "suffix": "", "logprobs": null}`, request{question: engine.Question{Ask: prompt(""), Num: 1}}},
		{infill, `{"text": "C[MASK]C"}`, request{echo: true, question: engine.Question{Ask: []results.Question{{Kind: results.Infill, Text: "C[MASK]C", Place: "text"}}, Num: 1}}},
		{infill, `{"tokens": [1, 4, 2]}`, request{echo: true, question: engine.Question{Ask: []results.Question{{Kind: results.Tokens, Tokens: []int32{1, 4, 2}, Place: "tokens[0]"}}, Num: 1}}},
		{infill, `{"tokens": [[1], [4, 2]], "n": 2}`, request{echo: true, question: engine.Question{Ask: []results.Question{
			{Kind: results.Tokens, Tokens: []int32{1}, Place: "tokens[0]"}, {Kind: results.Tokens, Tokens: []int32{4, 2}, Place: "tokens[1]"}}, Num: 2}}},
	} {
		got, err := readRequest(c.kind, []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		c.want.kind = c.kind
		if diff := cmp.Diff(c.want, *got, cmp.AllowUnexported(request{})); diff != "" {
			t.Errorf("%s: -expected +found\n%s", c.body, diff)
		}
	}
}

// What cannot be answered is refused with the field's name and what to do.
func TestBadRequests(t *testing.T) {
	deep := strings.Repeat(`{"planner":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for _, c := range []struct {
		kind              kind
		body, param, text string
	}{
		{completion, ``, "", "found nothing"},
		{completion, `[]`, "", "expected a JSON object, found a list"},
		{completion, `{"prompt": "a"} {}`, "", "found more after it"},
		{completion, `{"prompt": "a"`, "", "found its end at byte 14"},
		{completion, `{"prompt": tru}`, "", "expected JSON, found something else at byte"},
		{completion, `{"temperature": NaN}`, "", "expected JSON"},
		{completion, "{\"prompt\": \"\xff\"}", "", "expected UTF-8"},
		{completion, `{"n": 1, "n": 2}`, "", "n: given twice; keep one"},
		{completion, `{"planner": {"options": {"k": 1, "k": 2}}}`, "", "planner.options.k: given twice"},
		{completion, deep, "", "more than 16 lists and objects"},
		{completion, strings.Repeat("[", maxDepth+1), "", "more than 16 lists and objects"},
		{completion, `{"prompt": "\\\\\ud83d\ude00 \ud800 "}`, "", `found half of one, \ud800, at byte 29;`},
		{completion, `{"prompt": "\udc00\ud800"}`, "", `found half of one, \udc00, at byte 12;`},
		{completion, `{"max_tokens": 0}`, "max_tokens", "expected a whole number from 1"},
		{completion, `{"n": ` + strings.Repeat("1", 100) + `}`, "", "a number of 100 digits"},
		{completion, `{"promt": "a"}`, "promt", "unknown field; did you mean prompt?"},
		{completion, `{"prompt": 3}`, "prompt", "expected a text or a list of texts, found the number 3"},
		{completion, `{"prompt": [1, 2]}`, "prompt", "token ids go to /v1/infill"},
		{completion, `{"prompt": []}`, "prompt", "expected a text or a list of texts"},
		{completion, `{"model": 3}`, "model", "expected a text"},
		{completion, `{"n": 0}`, "n", "expected a whole number from 1"},
		{completion, `{"n": 1.5}`, "n", "expected a whole number from 1"},
		{completion, `{"n": true}`, "n", "found true"},
		{completion, `{"seed": -1}`, "seed", "below 2^64"},
		{completion, `{"seed": 18446744073709551616}`, "seed", "below 2^64"},
		{completion, `{"temperature": "hot"}`, "temperature", `found the text "hot"`},
		{completion, `{"temperature": 1e999}`, "temperature", "fits 64 bits"},
		{completion, `{"stream": 1}`, "stream", "expected true or false"},
		{completion, `{"stop": [1]}`, "stop", "list of texts"},
		{completion, `{"stream_options": {"include_usage": true}}`, "stream_options", "goes only with a stream"},
		{completion, `{"stream": true, "stream_options": {"usage": true}}`, "stream_options.usage", "unknown field; there are include_obfuscation, include_usage"},
		{completion, `{"planner": 7}`, "planner", "expected an object"},
		{completion, `{"planner": {"nam": "eb"}}`, "planner.nam", "did you mean name?"},
		{completion, `{"planner": {"options": {"network": "/etc"}}}`, "planner.options.network", "cannot name a network"},
		{completion, `{"planner": {"options": {"name": "/bin/sh"}}}`, "planner.options.name", "named beside its options"},
		{completion, `{"sampling": {"pad_to": 1000000}}`, "sampling.pad_to", "configuration alone sets it"},
		{completion, `{"sampling": {"temprature": 1}}`, "sampling.temprature", "did you mean temperature?"},
		{completion, `{"temperature": 1, "sampling": {"temperature": 2}}`, "sampling.temperature", "given twice"},
		{completion, `{"logprobs": 1}`, "logprobs", "details"},
		{completion, `{"best_of": 4}`, "best_of", "not to be had here"},
		{completion, `{"suffix": "x"}`, "suffix", "/v1/infill"},
		{completion, `{"runtime": "cuda"}`, "runtime", "unknown field"},
		{infill, `{}`, "", "found neither"},
		{infill, `{"text": "a", "tokens": [1]}`, "", "found both"},
		{infill, `{"tokens": ["a"]}`, "tokens", "expected token ids"},
		{infill, `{"tokens": [4294967296]}`, "tokens", "expected token ids"},
		{infill, `{"text": "a", "max_tokens": 4}`, "max_tokens", "unknown field"},
		{completion, `{"n": 0, "stream": 2, "x": 1}`, "n", "; stream: expected true or false, found the number 2; x: unknown field"},
	} {
		_, err := readRequest(c.kind, []byte(c.body))
		var bad *engine.RequestError
		if !errors.As(err, &bad) || bad.Param != c.param || !strings.Contains(bad.Text, c.text) {
			t.Errorf("%.80s: expected %q: ...%s..., found %v", c.body, c.param, c.text, err)
		}
	}
}

// Whatever comes, a request is read or refused, and one that is read cannot touch what is the operator's.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{`{}`, `{"prompt": ["a", "b"], "n": 2, "planner": {"name": "eb", "options": {"gamma": 0.1}}}`, `{"text": "a", "stop": ["\n"], "sampling": {"top_k": 3}}`,
		`{"tokens": [[1, 2], [3]], "seed": 1e3}`, `{"planner": {"options": {"network": "x"}}}`, "{\"prompt\": \"\\ud800\"}", `[[[[`} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, filled bool) {
		k := completion
		if filled {
			k = infill
		}
		r, err := readRequest(k, body)
		if err != nil {
			var bad *engine.RequestError
			if !errors.As(err, &bad) || bad.Text == "" {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if len(r.question.Ask) == 0 || r.question.Num < 1 || r.question.Steps != r.stream {
			t.Fatalf("%q: %+v", body, r)
		}
		for _, s := range r.question.Settings {
			section, _, _ := strings.Cut(s.Key, ".")
			if !slices.Contains([]string{"planner", "sampler", "sampling", "steps", "length"}, section) || s.Flag == "" {
				t.Fatalf("%q sets %s (%q)", body, s.Key, s.Flag)
			}
			if _, no := closed[s.Key]; no && !strings.HasSuffix(s.Key, ".name") {
				t.Fatalf("%q sets %s", body, s.Key)
			}
		}
	})
}
