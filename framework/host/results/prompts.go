package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// PromptKind says how a question is to be read.
type PromptKind string

// The kinds; they are the keys of an input line.
const (
	Prompt PromptKind = "prompt" // text that the row begins with
	Infill PromptKind = "infill" // text with blanks
	Tokens PromptKind = "tokens" // the row itself, mask id = blank
)

// Question is one row to sample, as the user wrote it.
type Question struct {
	Kind   PromptKind
	Text   string
	Tokens []int32
	Place  string // "FILE:LINE", or the flag it came from
	Bad    error  // why the line cannot be read, or nil
}

// InputError lists every line of the input that cannot be read.
type InputError struct {
	Name     string
	Problems []string
}

// Error lists the problems, one a line when there are several, the first twenty of many.
func (e *InputError) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0]
	}
	shown := e.Problems[:min(len(e.Problems), 20)]
	s := fmt.Sprintf("%s: %d problems\n  %s", e.Name, len(e.Problems), strings.Join(shown, "\n  "))
	if more := len(e.Problems) - len(shown); more > 0 {
		s += fmt.Sprintf("\n  and %d more", more)
	}
	return s
}

// ReadQuestions reads JSON lines {"prompt"}, {"infill"} or {"tokens"}; name stands in messages. Empty lines are skipped.
// The error is an [InputError] that lists every bad line with its number; the questions then hold the bad ones too, so that
// [Requests] can tell what else is wrong.
func ReadQuestions(name string, r io.Reader) ([]Question, error) {
	var out []Question
	err := EachLine(name, "rows", `{"infill": "..."}`, r, func(place string, text []byte) error {
		q, bad := readQuestion(text)
		q.Place, q.Bad = place, bad
		out = append(out, q)
		return bad
	})
	if bad := (*InputError)(nil); err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	return out, err
}

// readQuestion reads one line.
func readQuestion(text []byte) (Question, error) {
	var q Question
	if !utf8.Valid(text) {
		return q, errors.New("expected UTF-8, found other bytes; convert the file")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return q, errors.New(`expected an object such as {"infill": "..."}`)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return q, badJSON(err)
		}
		key, _ := t.(string)
		switch kind := PromptKind(key); {
		case kind != Prompt && kind != Infill && kind != Tokens:
			return q, fmt.Errorf("%s: unknown key%s", key, nearest.DidYouMean(key, []string{string(Prompt), string(Infill), string(Tokens)}))
		case q.Kind != "":
			return q, fmt.Errorf("expected one of prompt, infill and tokens, found %s and %s; leave one", q.Kind, kind)
		default:
			q.Kind = kind
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return q, badJSON(err)
		}
		if err := q.take(raw); err != nil {
			return q, err
		}
	}
	if _, err := d.Token(); err != nil {
		return q, badJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, errors.New("expected one object a line, found more behind it; put each on its own line")
	}
	if q.Kind == "" {
		return q, errors.New("expected one of prompt, infill and tokens, found none")
	}
	return q, nil
}

func badJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("expected a whole JSON object, found the end of the line; close it")
	}
	return fmt.Errorf("expected JSON: %w", err)
}

func (q *Question) take(raw json.RawMessage) error {
	isNull := string(raw) == "null"
	if q.Kind != Tokens {
		if json.Unmarshal(raw, &q.Text) != nil || isNull {
			return fmt.Errorf("%s: expected a text, found %s", q.Kind, clip(raw))
		}
		return nil
	}
	var ids []*int32
	if json.Unmarshal(raw, &ids) != nil || isNull {
		return fmt.Errorf("tokens: expected a list of token ids, found %s", clip(raw))
	}
	q.Tokens = make([]int32, len(ids))
	for i, id := range ids {
		if id == nil || *id < 0 {
			return fmt.Errorf("tokens: position %d: expected a token id from 0", i)
		}
		q.Tokens[i] = *id
	}
	return nil
}

// clip shortens what is quoted in a message.
func clip(raw []byte) string {
	if len(raw) > 40 {
		return strings.ToValidUTF8(string(raw[:40]), "") + "..."
	}
	return string(raw)
}
