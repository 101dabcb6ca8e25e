package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// Kind is the type of a setting's value.
type Kind string

// The kinds, named as error messages say them.
const (
	String Kind = "a text"
	Bool   Kind = "true or false"
	Int    Kind = "a whole number"
	Uint   Kind = "a whole number from 0"
	Float  Kind = "a number"
	Ints   Kind = "a list of whole numbers"
	Texts  Kind = "a list of texts"
	Map    Kind = "a map"
)

// Text is a value that came as bare text, from the environment or a flag, and takes the type that is asked for.
type Text string

// parse returns the value in the Go type of the kind: string, bool, int, uint64, float64, []int32, []string.
func (k *Key) parse(v any) (any, error) {
	out, ok := convert(k.Kind, v)
	if !ok {
		return nil, fmt.Errorf("expected %s%s, found %s", k.expected(), k.example(v), k.found(v))
	}
	switch n := out.(type) {
	case string:
		if k.Enum != nil && !slices.Contains(k.Enum, n) {
			return nil, fmt.Errorf("expected %s, found %q%s", k.expected(), n, nearest.Perhaps(strings.ToLower(n), k.Enum))
		}
	case int:
		ok = k.within(float64(n))
	case float64:
		ok = k.within(n)
	case []string:
		if k.Each != nil {
			if at := slices.IndexFunc(n, func(s string) bool { return !k.Each.MatchString(s) }); at >= 0 {
				return nil, fmt.Errorf("expected a list of %s%s, found %q", k.EachIs, k.example(v), Entry{Key: k.Name, Value: n[at]}.Shown())
			}
		}
	case []int32:
		ok = !slices.ContainsFunc(n, func(i int32) bool { return !k.within(float64(i)) })
	}
	if !ok {
		return nil, fmt.Errorf("expected %s, found %s", k.expected(), k.found(v))
	}
	return out, nil
}

func (k *Key) within(v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	low := k.Min == nil || v > *k.Min || (v == *k.Min && !k.Above)
	high := k.Max == nil || v < *k.Max || (v == *k.Max && !k.Below)
	return low && high
}

// expected says type and bounds, such as "a number above 0 up to 1".
func (k *Key) expected() string {
	s := string(k.Kind)
	if len(k.Enum) == 1 {
		return k.Enum[0]
	}
	if k.Enum != nil {
		words := slices.Clone(k.Enum)
		if i := slices.Index(words, ""); i >= 0 {
			words[i] = `""`
		}
		return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	}
	if k.Min != nil {
		s += map[bool]string{true: " above ", false: " from "}[k.Above] + number(*k.Min)
	}
	if k.Max != nil {
		s += map[bool]string{true: " below ", false: " up to "}[k.Below] + number(*k.Max)
	}
	return strings.TrimPrefix(s, "a text or ")
}

// example shows how a list of texts is written where v came from.
func (k *Key) example(v any) string {
	if k.Kind != Texts {
		return ""
	}
	_, bare := v.(Text)
	switch {
	case k.Entries != nil: // they hold colons, which would divide them
		return fmt.Sprintf(", such as [%s]", `"`+strings.Join(k.Entries, `","`)+`"`)
	case !bare:
		return ", such as [FOO, HOME]"
	}
	return `, such as ["FOO","HOME"] or FOO:HOME`
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// convert brings v, a Text or a value of a YAML or JSON file, to the kind's Go type.
func convert(kind Kind, v any) (any, bool) {
	text, isText := v.(Text)
	s := strings.TrimSpace(string(text))
	switch kind {
	case String:
		if isText {
			return string(text), true
		}
		out, ok := v.(string)
		return out, ok
	case Bool:
		if isText {
			b, err := strconv.ParseBool(s)
			return b, err == nil
		}
		b, ok := v.(bool)
		return b, ok
	case Int:
		n, ok := whole(v)
		return int(n), ok && n == int64(int32(n))
	case Uint:
		if u, ok := v.(uint64); ok {
			return u, true
		}
		if isText {
			u, err := strconv.ParseUint(s, 10, 64)
			return u, err == nil
		}
		n, ok := whole(v)
		return uint64(n), ok && n >= 0
	case Float:
		if isText {
			f, err := strconv.ParseFloat(s, 64)
			return f, err == nil
		}
		if f, ok := v.(float64); ok {
			return f, true
		}
		n, ok := whole(v)
		return float64(n), ok
	case Ints:
		return ints(v)
	case Texts:
		return texts(v)
	}
	return nil, false
}

// whole returns integers, whole floats (JSON has no others) and texts of integers.
func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	case Text:
		i, err := strconv.ParseInt(strings.TrimSpace(string(n)), 10, 64)
		return i, err == nil
	}
	return 0, false
}

func ints(v any) (any, bool) {
	list, ok := v.([]any)
	if n, one := whole(v); one { // a number is a list of one
		return []int32{int32(n)}, n == int64(int32(n))
	}
	if text, isText := v.(Text); isText {
		ok = true
		s := strings.Trim(strings.TrimSpace(string(text)), "[]")
		for field := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
			list = append(list, Text(field))
		}
	}
	out := make([]int32, 0, len(list))
	for _, e := range list {
		n, fine := whole(e)
		if !fine || n != int64(int32(n)) {
			return nil, false
		}
		out = append(out, int32(n))
	}
	return out, ok
}

// texts returns a list; a bare text holds one for each part between colons, as PATH does.
func texts(v any) (any, bool) {
	if text, ok := v.(Text); ok {
		if strings.HasPrefix(strings.TrimSpace(string(text)), "[") { // a JSON list, for texts with a colon
			var list []string
			err := json.Unmarshal([]byte(text), &list)
			return list, err == nil
		}
		return slices.DeleteFunc(strings.Split(string(text), ":"), func(s string) bool { return s == "" }), true
	}
	list, ok := v.([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, fine := e.(string)
		ok = ok && fine
		out = append(out, s)
	}
	return out, ok
}

func quote(v any) string {
	switch s := v.(type) {
	case Text:
		return strconv.Quote(string(s))
	case string:
		return fmt.Sprintf("the text %q", s)
	case map[string]any:
		return "a map"
	}
	return fmt.Sprint(v)
}
