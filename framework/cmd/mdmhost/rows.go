package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/view"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// requests turns questions into rows, num of each: row q*num+i is the i-th sample of question q. Notes say where the
// vocabulary lacks a part of the text.
func requests(m *model.Model, cfg *config.Config, asked []results.Question) (rows []sampling.Request, notes []string, err error) {
	if asked == nil { // nobody asked for anything
		if asked, err = examples(m, cfg); err != nil {
			return nil, nil, err
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
		for range cfg.Num {
			rows = append(rows, sampling.Request{Index: int64(len(rows)), Tokens: row.Tokens, Fixed: row.Fixed, Steps: cfg.Steps, Params: params})
		}
	}
	if len(problems) > 0 {
		return nil, nil, &results.InputError{Name: "input", Problems: problems}
	}
	return rows, notes, nil
}

// examples is what is sampled when nothing is asked: the model's own examples, or rows from nothing.
func examples(m *model.Model, cfg *config.Config) ([]results.Question, error) {
	if m.Examples != nil && !cfg.Given("length") {
		return results.ReadQuestions(m.Name+"/prompts.jsonl", bytes.NewReader(m.Examples))
	}
	place := "no input"
	if cfg.Given("length") {
		place = cfg.Origin("length").String()
	}
	return []results.Question{{Kind: results.Prompt, Place: place}}, nil
}

func encode(m *model.Model, cfg *config.Config, q results.Question) (model.Row, error) {
	switch q.Kind {
	case results.Infill:
		return m.EncodeInfill(q.Text)
	case results.Tokens:
		return m.EncodeTokens(q.Tokens)
	}
	return m.EncodePrompt(q.Text, cfg.Length)
}

// piece returns how tokens read within a row.
func piece(m *model.Model) view.Piece {
	t := m.Tokenizer
	return func(id int32) string {
		spelling := t.Token(id)
		switch {
		case t.Special(id):
			return ""
		case t.Kind() == "WordPiece":
			if part, ok := strings.CutPrefix(spelling, "##"); ok {
				return part
			}
			return " " + spelling
		case strings.HasPrefix(spelling, "▁"):
			return " " + strings.TrimPrefix(spelling, "▁")
		}
		return t.Decode([]int32{id}, true)
	}
}
