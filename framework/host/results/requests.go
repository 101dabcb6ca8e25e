package results

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// MaxRows bounds a run: its rows are held in memory.
const MaxRows = 10_000_000

// Requests turns questions into rows, num of each: row q*num+i is the i-th sample of question q. Where nothing is asked
// (nil), the rows of the recording are that answers in place of a model, or the model's own examples, num of them in turn, or rows from
// nothing. Notes say what the user may not have
// meant; the error is an [InputError] that lists every question that makes no row.
func Requests(m *model.Model, cfg *config.Config, asked []Question) (rows []sampling.Request, notes []string, err error) {
	if asked == nil && cfg.Runtime.Kind == config.KindReplay && !m.Insertion() && !cfg.Given("length") {
		rows, err = recorded(m, cfg)
		return rows, nil, err
	}
	total, question := len(asked)*cfg.Num, func(row int) int { return row / cfg.Num }
	if asked == nil {
		if asked, err = examples(m, cfg); err != nil {
			return nil, nil, err
		}
		if total = len(asked); cfg.Given("num") {
			total = cfg.Num
		}
		question = func(row int) int { return row % len(asked) }
	}
	encoded, notes, problems := encodeAll(m, cfg, asked)
	if total > MaxRows {
		problems = append(problems, fmt.Sprintf("%s: %d samples of each of %d prompts, expected at most %d rows in all; ask for fewer in one run",
			cfg.Origin("num"), cfg.Num, len(asked), MaxRows))
	}
	if len(problems) > 0 {
		return nil, nil, &InputError{Name: "input", Problems: problems}
	}
	rows = make([]sampling.Request, total)
	for i := range rows {
		row := encoded[question(i)]
		rows[i] = sampling.Request{Index: int64(i), Tokens: row.Tokens, Fixed: row.Fixed, FrozenGap: row.FrozenGap, Cap: row.Cap, Steps: cfg.Steps, Params: params(cfg)}
	}
	return rows, notes, nil
}

// params are the draw's settings.
func params(cfg *config.Config) sampling.Params {
	s := cfg.Sampling
	return sampling.Params{Temperature: float32(s.Temperature), TopK: int32(s.TopK), TopP: float32(s.TopP), MinP: float32(s.MinP)}
}

// encodeAll makes one row of each question. A length that is wrong for all of them is one problem.
func encodeAll(m *model.Model, cfg *config.Config, asked []Question) (rows []model.Row, notes, problems []string) {
	full, lengthened := []string{}, false // places of text without a blank; whether the length has a use
	for _, q := range asked {
		row, err := encode(m, cfg, q)
		row = m.WithRoom(row, cfg.Length)
		if err != nil {
			place, text := q.Place, err.Error()
			if strings.HasPrefix(text, "length: ") && cfg.Given("length") {
				place = cfg.Origin("length").String()
			}
			if text = place + ": " + text; !slices.Contains(problems, text) {
				problems = append(problems, text)
			}
			continue
		}
		if n := len(row.Unknown); n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d positions hold what the vocabulary lacks; the unknown token stands there", q.Place, n))
		}
		if row.Completed > 0 {
			notes = append(notes, fmt.Sprintf("%s: the model's rows have %d positions; the %d after the text are blank", q.Place, len(row.Tokens), row.Completed))
		}
		if cfg.Sampling.Stops() {
			if at := behindBlank(m, row); at >= 0 {
				problems = append(problems, fmt.Sprintf("%s: position %d is given, and a stop rule may cut it off since it stands behind a blank; leave out sampling.stop and sampling.eos_early_stop, or give text that the samples begin with (prompt)", q.Place, at))
			}
		}
		if q.Kind == Infill && !row.Opens() {
			full = append(full, q.Place)
		}
		lengthened = lengthened || q.Kind == Prompt
		rows = append(rows, row)
	}
	if len(full) > 0 {
		notes = append(notes, fmt.Sprintf("%s has no blank (%d of %d rows), so nothing is filled there; a blank is written %s", full[0], len(full), len(asked), m.MaskText()))
	}
	switch length := cfg.Origin("length"); {
	case cfg.Length == 0 || m.Insertion():
	case cfg.Given("infill") && length.Layer == cfg.Origin("infill").Layer:
		problems = append(problems, length.String()+": goes only with prompts: text with blanks has its own length; leave it out")
	case length.Layer != config.LayerModel && !lengthened:
		notes = append(notes, fmt.Sprintf("length = %d (%s) is left out: it goes with prompts, and there are none", cfg.Length, cfg.Origin("length")))
	}
	return rows, notes, problems
}

// behindBlank returns the first position that was given and stands behind a blank, -1 without one. Special tokens at the end
// of the row, which the tokenizer put there, do not count.
func behindBlank(m *model.Model, row model.Row) int {
	end := len(row.Fixed)
	for end > 0 && row.Fixed[end-1] && m.Tokenizer.Special(row.Tokens[end-1]) {
		end--
	}
	blank := slices.Index(row.Fixed, false)
	for i := max(blank, 0); i < end && blank >= 0; i++ {
		if row.Fixed[i] {
			return i
		}
	}
	return -1
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

func encode(m *model.Model, cfg *config.Config, q Question) (model.Row, error) {
	switch {
	case q.Bad != nil:
		return model.Row{}, q.Bad
	case q.Kind == Infill && q.Text == "":
		return model.Row{}, fmt.Errorf("infill: expected text with blanks, found nothing; a blank is written %s, as in C%sC", m.MaskText(), m.MaskText())
	case q.Kind == Infill:
		return m.EncodeInfill(q.Text)
	case q.Kind == Tokens:
		return m.EncodeTokens(q.Tokens)
	}
	return m.EncodePrompt(q.Text, cfg.Length)
}
