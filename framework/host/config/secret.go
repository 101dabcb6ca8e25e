package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Hidden stands where a credential would.
const Hidden = "***"

// Shown is the value as people and logs may see it: without credentials. Values are compared and passed on as they are, by Value.
func (e Entry) Shown() any {
	key := e.Key
	if of, _, ok := entryOf(key); ok {
		key = of
	}
	k := Lookup(key)
	if k == nil || k.Hide == nil {
		return e.Value
	}
	switch v := e.Value.(type) {
	case string:
		return k.Hide(v)
	case Text:
		return Text(k.Hide(string(v)))
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = k.Hide(s)
		}
		return out
	}
	return e.Value
}

// found quotes a value that is wrong, as messages may show it.
func (k *Key) found(v any) string {
	switch {
	case k.Hide == nil:
		return quote(v)
	case k.Kind == Texts: // of which the parts are unknown
		return "another text"
	}
	return quote(Entry{Key: k.Name, Value: v}.Shown())
}

// credentials are what stands before the host of an address, and what is asked of it.
var credentials = regexp.MustCompile(`(://)[^/\s]*@|(\?).*`)

// HideAddress takes credentials out of an address: user and password, and its query.
func HideAddress(address string) string {
	return credentials.ReplaceAllStringFunc(address, func(found string) string {
		if strings.HasPrefix(found, "?") {
			return "?" + Hidden
		}
		return "://" + Hidden + "@"
	})
}

// hideValue leaves the name of an environment variable, which is no secret, and nothing else.
func hideValue(text string) string {
	if strings.HasPrefix(text, "$") {
		return text
	}
	return Hidden
}

// hideVariable leaves the name of NAME=value.
func hideVariable(text string) string {
	if name, _, ok := strings.Cut(text, "="); ok {
		return fmt.Sprintf("%s=%s", name, Hidden)
	}
	return text
}
