package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/nearest"
)

// kind is what a request asks for.
type kind string

// The kinds, as OpenAI's object names go.
const (
	completion kind = "text_completion"
	infill     kind = "infill"
)

// request is the body of a request, read.
type request struct {
	kind     kind
	question engine.Question
	stream   bool
	usage    bool // stream_options.include_usage
	echo     bool // the prompt is part of the texts
	details  bool
}

// numbers are fields that hold a number and set a key.
var numbers = map[string]string{
	"temperature": "sampling.temperature", "top_p": "sampling.top_p", "min_p": "sampling.min_p", "top_k": "sampling.top_k",
	"max_tokens": "length", "steps": "steps",
}

// neutral are OpenAI's fields that nothing here stands for, with the values that ask for nothing: clients send those by themselves.
var neutral = map[string]string{"best_of": "1", "frequency_penalty": "0", "presence_penalty": "0"}

// closed are keys that a request may not set, with the reason.
var closed = map[string]string{
	"planner.name": "the planner is named beside its options", "sampler.name": "the sampler is named beside its options",
	"planner.network": "a request cannot name a network; the server's configuration does",
	"sampling.pad_to": "the server's configuration alone sets it",
}

// readRequest reads the body of a request. The error is of type *engine.RequestError and tells all problems.
func readRequest(k kind, body []byte) (*request, error) {
	object, err := readObject(body)
	if err != nil {
		return nil, &engine.RequestError{Text: err.Error()}
	}
	var problems []problem
	f := &fields{values: object, problems: &problems}
	r := &request{kind: k}
	r.question.Model = f.text("model")
	if k == completion {
		r.completion(f)
	} else {
		r.infill(f)
	}
	r.question.Num = f.whole("n", 1, 1)
	r.question.Seed = f.seed("seed")
	r.draw(f)
	r.part(f, "planner")
	r.part(f, "sampler")
	r.stream, r.details = f.flag("stream"), f.flag("details")
	r.question.Steps = r.stream
	f.get("user") // whom the client asks for is its own affair
	if o := f.object("stream_options"); o != nil {
		r.usage = o.flag("include_usage")
		o.flag("include_obfuscation") // padding against eavesdroppers, which a client may ask for and nobody owes it
		if o.rest(); !r.stream {
			f.add("stream_options", "goes only with a stream; add \"stream\": true, or leave it out")
		}
	}
	f.rest()
	if len(problems) > 0 {
		return nil, refusedFor(problems)
	}
	return r, nil
}

// completion reads the fields that only completions have.
func (r *request) completion(f *fields) {
	prompts := f.texts("prompt", "; token ids go to /v1/infill, as tokens")
	if prompts == nil {
		prompts = []string{""} // rows from nothing
	}
	r.ask("prompt", results.Prompt, prompts)
	r.echo = f.flag("echo")
	for _, name := range slices.Sorted(maps.Keys(neutral)) {
		if v, given := f.get(name); given && !isNumber(v, neutral[name]) {
			f.add(name, "is not to be had here; leave it out")
		}
	}
	if _, given := f.get("logprobs"); given {
		f.add("logprobs", "is not to be had here; \"details\": true gives the log-probability of every token when it was written")
	}
	if v, given := f.get("logit_bias"); given {
		if m, ok := v.(map[string]any); !ok || len(m) > 0 {
			f.add("logit_bias", "is not to be had here; leave it out")
		}
	}
	if v, given := f.get("suffix"); given && v != "" {
		f.add("suffix", "is not to be had here; ask /v1/infill for text with blanks before it")
	}
}

// infill reads the fields that only infills have.
func (r *request) infill(f *fields) {
	r.echo = true // what is given stands around what is made
	texts, tokens := f.texts("text", "; a blank is the model's mask_text, see /v1/models"), f.rows("tokens")
	_, text := f.values["text"]
	_, ids := f.values["tokens"]
	switch {
	case text == ids:
		f.add("", "expected either text with blanks or tokens, found %s; send one of them", map[bool]string{true: "both", false: "neither"}[text])
	case text:
		r.ask("text", results.Infill, texts)
	default:
		for i, row := range tokens {
			r.question.Ask = append(r.question.Ask, results.Question{Kind: results.Tokens, Tokens: row, Place: fmt.Sprintf("tokens[%d]", i)})
		}
	}
}

func (r *request) ask(name string, k results.PromptKind, texts []string) {
	for i, text := range texts {
		r.question.Ask = append(r.question.Ask, results.Question{Kind: k, Text: text, Place: nth(name, i, len(texts))})
	}
}

// draw reads what says how tokens are drawn.
func (r *request) draw(f *fields) {
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if name == "max_tokens" && r.kind == infill {
			continue // text with blanks has its own length
		}
		if name == "max_tokens" { // of which 0 would be the model's own number
			if n := f.whole(name, 1, 0); n > 0 {
				r.set(numbers[name], strconv.Itoa(n), name)
			}
			continue
		}
		if value := f.number(name); value != "" {
			r.set(numbers[name], value, name)
		}
	}
	if stop := f.texts("stop", ""); stop != nil {
		text, _ := json.Marshal(stop) // texts always can
		r.set("sampling.stop", string(text), "stop")
	}
	more := f.object("sampling")
	if more == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(more.values)) {
		key := "sampling." + name
		if config.Lookup(key) == nil {
			more.add(clip(name, 80), "unknown setting%s", nearest.DidYouMean(clip(name, 80), samplingNames()))
			continue
		}
		if !taken(r.question.Settings, key) {
			r.option(more, key, name)
			continue
		}
		more.add(name, "is given twice, here and beside it; keep one")
	}
}

func samplingNames() (out []string) {
	for _, k := range config.Keys {
		if name, ok := strings.CutPrefix(k.Name, "sampling."); ok {
			out = append(out, name)
		}
	}
	return out
}

// part reads a planner or a sampler: its name, or {"name", "options"}.
func (r *request) part(f *fields, section string) {
	if name, ok := f.values[section].(string); ok {
		f.get(section)
		r.set(section+".name", name, section)
		return
	}
	o := f.object(section)
	if o == nil {
		return
	}
	if name := o.text("name"); name != "" {
		r.set(section+".name", name, within(section, "name"))
	}
	if options := o.object("options"); options != nil {
		for _, name := range slices.Sorted(maps.Keys(options.values)) {
			r.option(options, section+"."+name, name)
		}
	}
	o.rest()
}

// option sets a key to the value of a field of whatever type.
func (r *request) option(f *fields, key, name string) {
	v, given := f.get(name)
	if reason, no := closed[key]; no {
		f.add(name, "%s; leave it out", reason)
		return
	}
	if !given {
		return
	}
	text, plain := v.(string)
	if !plain {
		raw, err := json.Marshal(v)
		if err != nil {
			f.add(name, "expected a value that JSON can hold, found %s", kindOf(v))
			return
		}
		text = string(raw)
	}
	r.set(key, text, within(f.place, name))
}

func (r *request) set(key, value, name string) {
	r.question.Settings = append(r.question.Settings, config.Assignment{Key: key, Value: value, Flag: name})
}

func taken(settings []config.Assignment, key string) bool {
	return slices.ContainsFunc(settings, func(a config.Assignment) bool { return a.Key == key })
}

// nth names an entry of a list: "prompt" alone, or "prompt[2]".
func nth(name string, i, of int) string {
	if of == 1 {
		return name
	}
	return fmt.Sprintf("%s[%d]", name, i)
}

// isNumber tells whether a value is a number that equals the literal.
func isNumber(v any, literal string) bool {
	n, ok := v.(json.Number)
	a, err := n.Float64()
	b, _ := json.Number(literal).Float64()
	return ok && err == nil && a == b
}

// refusedFor is the error of a request with problems: the first one's field, and all texts.
func refusedFor(problems []problem) *engine.RequestError {
	const most = 10
	e := &engine.RequestError{Param: problems[0].param, Text: problems[0].text}
	for i, p := range problems[1:] {
		if i == most {
			e.Text += fmt.Sprintf("; and %d more", len(problems)-1-most)
			break
		}
		e.Text += "; " + (&engine.RequestError{Param: p.param, Text: p.text}).Error()
	}
	return e
}
