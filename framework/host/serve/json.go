package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// What the bodies of requests may hold. No request that means something comes near these bounds.
const (
	maxDepth  = 16 // lists and objects within each other
	maxNumber = 64 // bytes of a number
)

// readObject reads a body that is one JSON object. It is stricter than encoding/json, which forgives what hides mistakes: keys that
// are given twice, bytes and escapes that are no characters, and anything behind the object are errors. Numbers stay as they are written ([json.Number]).
func readObject(body []byte) (map[string]any, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("expected UTF-8, found other bytes; send the text in UTF-8")
	}
	r := &jsonReader{json.NewDecoder(bytes.NewReader(body))}
	r.UseNumber()
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New(`expected a JSON object, found nothing; send one, such as {"prompt": "..."}`)
	}
	v, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	if at := halfCharacter(body); at >= 0 {
		return nil, fmt.Errorf(`expected characters, found half of one, %s, at byte %d; send both \u, or the character itself in UTF-8`, body[at:at+6], at)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`expected a JSON object, found %s; send one, such as {"prompt": "..."}`, kindOf(v))
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("expected one JSON object, found more after it; send one request a body")
	}
	return object, nil
}

type jsonReader struct{ *json.Decoder }

// value reads one value; place is where it stands, such as "planner.options".
func (r *jsonReader) value(place string, depth int) (any, error) {
	token, err := r.Token()
	if err != nil {
		return nil, r.broken(err)
	}
	if depth >= maxDepth {
		if _, nests := token.(json.Delim); nests {
			return nil, wrong(place, "more than %d lists and objects within each other; send a flatter request", maxDepth)
		}
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(place, depth+1)
		}
		return r.list(place, depth+1)
	case json.Number:
		if len(t) > maxNumber {
			return nil, wrong(place, "a number of %d digits, expected at most %d; shorten it", len(t), maxNumber)
		}
	}
	return token, nil
}

func (r *jsonReader) object(place string, depth int) (any, error) {
	out := map[string]any{}
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return nil, r.broken(err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, wrong(place, "expected a name in quotes as key; add the quotes")
		}
		inner := within(place, name)
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("%s: given twice; keep one", inner)
		}
		if out[name], err = r.value(inner, depth); err != nil {
			return nil, err
		}
	}
	_, err := r.Token()
	return out, r.broken(err)
}

func (r *jsonReader) list(place string, depth int) (any, error) {
	out := []any{}
	for r.More() {
		v, err := r.value(place, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := r.Token()
	return out, r.broken(err)
}

// broken says where text stops being JSON; nil stays nil.
func (r *jsonReader) broken(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("expected JSON, found its end at byte %d, in the middle; send the whole object", r.InputOffset())
	}
	return fmt.Errorf("expected JSON, found something else at byte %d (%w); correct the text", r.InputOffset(), err)
}

// halfCharacter is where in a text of JSON half a surrogate pair stands as \uXXXX, which encoding/json would make another character of; -1 where
// there is none.
func halfCharacter(text []byte) int {
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		first, second := escaped(text[i:]), rune(-1)
		if i+6 <= len(text) {
			second = escaped(text[i+6:])
		}
		switch {
		case !utf16.IsSurrogate(first):
			i++ // what is escaped, which may be another backslash
		case utf16.DecodeRune(first, second) == utf8.RuneError:
			return i
		default:
			i += 11
		}
	}
	return -1
}

// escaped is the number of \uXXXX at the beginning of a text, -1 where it begins otherwise.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// wrong is an error about what stands at a place, "" for the whole body.
func wrong(place, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if place == "" {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", place, text)
}

func within(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// kindOf names a value's type for messages.
func kindOf(v any) string {
	switch t := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(t)
	case string:
		return "the text " + clip(fmt.Sprintf("%q", t), 80)
	case json.Number:
		return "the number " + t.String()
	case []any:
		return "a list"
	}
	return "an object"
}

// clip shortens a text for a message, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "..."
}
