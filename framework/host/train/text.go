package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/nearest"
)

// Text is what a score is asked of: Text, maybe after a Prompt that is given; or Tokens, taken as they are; or the Answer to the
// blanks of Infill.
type Text struct {
	Text   *string `json:"text"`
	Prompt *string `json:"prompt"`
	Tokens []int32 `json:"tokens"`
	Infill *string `json:"infill"`
	Answer *string `json:"answer"`
	Place  string  `json:"-"` // "FILE:LINE", or where else it stands
}

// textKeys are the keys of a line.
var textKeys = []string{"text", "prompt", "tokens", "infill", "answer"}

// ReadTexts reads JSON lines {"text"}, {"prompt", "text"}, {"tokens"} or {"infill", "answer"}; name stands in messages. Empty
// lines are skipped. The error is a [results.InputError] that lists every bad line.
func ReadTexts(name string, r io.Reader) ([]Text, error) {
	var out []Text
	err := results.EachLine(name, "texts", `{"text": "..."}`, r, func(place string, line []byte) error {
		t, bad := readText(line)
		t.Place = place
		out = append(out, t)
		return bad
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// readText reads one line.
func readText(line []byte) (t Text, err error) {
	if !utf8.Valid(line) {
		return t, errors.New("expected UTF-8, found other bytes; convert the file")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil || object == nil {
		return t, errors.New(`expected one JSON object such as {"text": "..."}`)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch {
		case !slices.Contains(textKeys, key):
			return t, fmt.Errorf("%s: unknown key%s", key, nearest.DidYouMean(key, textKeys))
		case string(object[key]) == "null":
			return t, fmt.Errorf("%s: expected a value, found null; leave it out", key)
		}
	}
	if err := json.Unmarshal(line, &t); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return t, fmt.Errorf("%s: expected %s, found a %s", wrong.Field, map[bool]string{true: "a list of token ids", false: "a text"}[object["tokens"] != nil && wrong.Field == "tokens"], wrong.Value)
		}
		return t, err
	}
	return t, t.check()
}

// check tells the forms of a line from mixtures of them.
func (t *Text) check() error {
	forms := 0
	for _, given := range []bool{t.Text != nil, t.Tokens != nil, t.Infill != nil} {
		if given {
			forms++
		}
	}
	switch {
	case t.Prompt != nil && t.Text == nil:
		return errors.New("prompt: goes with text; add it, or leave it out")
	case forms != 1:
		return errors.New("expected one of text, tokens and infill with answer")
	case (t.Infill != nil) != (t.Answer != nil):
		return errors.New("infill and answer go together: the answer is the whole text, blanks filled; give both")
	}
	return nil
}
