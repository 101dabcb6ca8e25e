// Package jsonfile decodes JSON files with errors that name the file, the line and the column.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Decode reads one JSON value and nothing after it into v. Keys that v does not know are ignored. name is what errors call
// the file; lines and columns (in characters) count from 1.
func Decode(name string, data []byte, v any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("%s: is empty, expected a JSON object", name)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		return locate(name, data, err, d.InputOffset())
	}
	if rest := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		at := len(data) - len(rest)
		return fmt.Errorf("%s: text after the end of the JSON value; remove it", Position(name, data, at))
	}
	return nil
}

// locate turns an error of encoding/json into one with a position.
func locate(name string, data []byte, err error, offset int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s: malformed JSON: %s", Position(name, data, int(syntax.Offset)-1), syntax.Error())
	case errors.As(err, &kind):
		field := kind.Field
		if field == "" {
			field = "the value"
		}
		// The offset of type errors is where the value ends.
		return fmt.Errorf("%s: %s is a JSON %s, expected %s", Position(name, data, int(kind.Offset)-1), field, kind.Value, english(kind.Type.Kind().String()))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: malformed JSON: the file ends too early", Position(name, data, len(data)))
	}
	return fmt.Errorf("%s: %w", Position(name, data, int(offset)), err)
}

// english says what a Go kind is called in JSON.
func english(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "an integer"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a string"
	case kind == "slice", kind == "array":
		return "an array"
	}
	return "an object"
}

// Position formats a byte offset as name:line:column.
func Position(name string, data []byte, offset int) string {
	before := data[:max(0, min(offset, len(data)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}
