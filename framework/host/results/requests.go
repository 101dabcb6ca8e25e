package results

import (
	"bytes"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Requests turns questions into rows, num of each: row q*num+i is the i-th sample of question q. Where
// nothing is asked (nil), the model's own examples are, num of them in turn, or rows from nothing. Notes say where the vocabulary lacks a part of
// the text; the error is an [InputError] that lists every question that makes no row.
func Requests(m *model.Model, cfg *config.Config, asked []Question) (rows []sampling.Request, notes []string, err error) {
	each := cfg.Num
	if asked == nil { // nobody asked for anything
		if asked, err = examples(m, cfg); err != nil {
			return nil, nil, err
		}
		if each = 1; cfg.Given("num") {
			asked = inTurn(asked, cfg.Num)
		}
	}
	s := cfg.Sampling
	params := sampling.Params{Temperature: float32(s.Temperature), TopK: int32(s.TopK), TopP: float32(s.TopP), MinP: float32(s.MinP)}
	var problems []string
	for _, q := range asked {
		row, err := encode(m, cfg, q)
		if err != nil {
			problems = append(problems, q.Place+": "+err.Error())
			continue
		}
		if n := len(row.Unknown); n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d positions hold what the vocabulary lacks; the unknown token stands there", q.Place, n))
		}
		for range each {
			rows = append(rows, sampling.Request{Index: int64(len(rows)), Tokens: row.Tokens, Fixed: row.Fixed, Steps: cfg.Steps, Params: params})
		}
	}
	if len(problems) > 0 {
		return nil, nil, &InputError{Name: "input", Problems: problems}
	}
	return rows, notes, nil
}

// examples is what is sampled when nothing is asked: the model's own examples, or rows from nothing.
func examples(m *model.Model, cfg *config.Config) ([]Question, error) {
	if m.Examples != nil && !cfg.Given("length") {
		return ReadQuestions(m.Name+"/prompts.jsonl", bytes.NewReader(m.Examples))
	}
	place := "no input"
	if cfg.Given("length") {
		place = cfg.Origin("length").String()
	}
	return []Question{{Kind: Prompt, Place: place}}, nil
}

// inTurn returns n of the questions, from the first again after the last.
func inTurn(q []Question, n int) []Question {
	out := make([]Question, n)
	for i := range out {
		out[i] = q[i%len(q)]
	}
	return out
}

func encode(m *model.Model, cfg *config.Config, q Question) (model.Row, error) {
	switch q.Kind {
	case Infill:
		return m.EncodeInfill(q.Text)
	case Tokens:
		return m.EncodeTokens(q.Tokens)
	}
	return m.EncodePrompt(q.Text, cfg.Length)
}
