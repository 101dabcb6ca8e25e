package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// readJSONL reads one JSON object a line; empty lines are passed over.
func readJSONL(r io.Reader, keys []string, to lines) error {
	b := bufio.NewReaderSize(r, 64<<10)
	values := make([]string, len(keys))
	for line := 1; ; line++ {
		text, end := b.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return end
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if err := pick(text, keys, values); err != nil {
				to.bad(line, err.Error())
			} else if err := to.good(line, values); err != nil {
				return err
			}
		}
		if end != nil {
			return nil
		}
	}
}

// pick reads the texts of some keys of an object.
func pick(text []byte, keys, values []string) error {
	if !utf8.Valid(text) {
		return errNotUTF8
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return fmt.Errorf("expected a JSON object: %w at character %d", err, utf8.RuneCount(text[:max(0, min(int(syntax.Offset)-1, len(text)))])+1)
		}
		return fmt.Errorf("expected a JSON object, found %s", clip(string(bytes.TrimSpace(text))))
	}
	for i, key := range keys {
		raw, ok := object[key]
		if !ok {
			return fmt.Errorf("expected the key %q, found %s", key, clip(strings.Join(slices.Sorted(maps.Keys(object)), ", ")))
		}
		if raw[0] != '"' {
			return fmt.Errorf("%s: expected a text, found %s", key, clip(string(raw)))
		}
		if err := json.Unmarshal(raw, &values[i]); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}
