package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// problem is one thing that is wrong with a request.
type problem struct {
	param string // "" where it is no single field
	text  string
}

// fields reads the fields of an object by their names. Every problem is kept, so that all are told at once; null is as if the field were
// not there.
type fields struct {
	place    string // of the object, "" for the whole request
	values   map[string]any
	known    []string
	problems *[]problem
}

func (f *fields) add(name, format string, args ...any) {
	*f.problems = append(*f.problems, problem{within(f.place, name), fmt.Sprintf(format, args...)})
}

// get returns a field that is there and not null.
func (f *fields) get(name string) (any, bool) {
	f.known = append(f.known, name)
	v := f.values[name]
	return v, v != nil
}

func (f *fields) text(name string) string {
	v, given := f.get(name)
	s, ok := v.(string)
	if given && !ok {
		f.add(name, "expected a text, found %s", kindOf(v))
	}
	return s
}

func (f *fields) flag(name string) bool {
	v, given := f.get(name)
	b, ok := v.(bool)
	if given && !ok {
		f.add(name, "expected true or false, found %s", kindOf(v))
	}
	return b
}

// number returns the literal of a number, "" where there is none.
func (f *fields) number(name string) string {
	v, given := f.get(name)
	n, ok := v.(json.Number)
	if !given {
		return ""
	}
	if !ok {
		f.add(name, "expected a number, found %s", kindOf(v))
		return ""
	}
	if _, err := n.Float64(); err != nil {
		f.add(name, "expected a number that fits 64 bits, found %s", n)
		return ""
	}
	return n.String()
}

// whole returns a whole number of at least least, def where there is none.
func (f *fields) whole(name string, least, def int) int {
	v, given := f.get(name)
	if !given {
		return def
	}
	n, ok := v.(json.Number)
	i, err := strconv.ParseInt(n.String(), 10, 32)
	if !ok || err != nil || int(i) < least {
		f.add(name, "expected a whole number from %d, found %s", least, kindOf(v))
		return def
	}
	return int(i)
}

// seed returns a number of 64 bits, nil where there is none.
func (f *fields) seed(name string) *uint64 {
	v, given := f.get(name)
	if !given {
		return nil
	}
	n, ok := v.(json.Number)
	u, err := strconv.ParseUint(n.String(), 10, 64)
	if !ok || err != nil {
		f.add(name, "expected a whole number from 0 below 2^64, found %s", kindOf(v))
		return nil
	}
	return &u
}

// texts returns a list of texts, of one where a text stands alone.
func (f *fields) texts(name, hint string) []string {
	v, given := f.get(name)
	if !given {
		return nil
	}
	if s, ok := v.(string); ok {
		return []string{s}
	}
	list, ok := v.([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		s, fine := e.(string)
		ok = ok && fine
		out = append(out, s)
	}
	if !ok || len(out) == 0 {
		f.add(name, "expected a text or a list of texts, found %s%s", kindOf(v), hint)
		return nil
	}
	return out
}

// rows returns rows of token ids: [[1, 2], [3]], or [1, 2] for one row.
func (f *fields) rows(name string) [][]int32 {
	v, given := f.get(name)
	if !given {
		return nil
	}
	list, ok := v.([]any)
	if ok && len(list) > 0 {
		if _, nested := list[0].([]any); !nested {
			list = []any{list}
		}
	}
	var out [][]int32
	for _, e := range list {
		row, fine := ids(e)
		ok = ok && fine
		out = append(out, row)
	}
	if !ok || len(out) == 0 {
		f.add(name, "expected token ids, [1, 2, 3], or a list of such rows, found %s that is neither", kindOf(v))
		return nil
	}
	return out
}

// ids reads a list of token ids. Whether the vocabulary has them, the model says.
func ids(v any) ([]int32, bool) {
	list, ok := v.([]any)
	out := make([]int32, 0, len(list))
	for _, e := range list {
		n, _ := e.(json.Number)
		i, err := strconv.ParseInt(n.String(), 10, 32)
		ok = ok && err == nil
		out = append(out, int32(i))
	}
	return out, ok
}

// object returns the fields of an object within this one, nil where there is none.
func (f *fields) object(name string) *fields {
	v, given := f.get(name)
	if !given {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		f.add(name, "expected an object, found %s", kindOf(v))
		return nil
	}
	return &fields{place: within(f.place, name), values: values, problems: f.problems}
}

// rest reports what nobody asked for, with the nearest name.
func (f *fields) rest() {
	for _, name := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.Contains(f.known, name) {
			f.add(clip(name, 80), "unknown field%s", nearest.DidYouMean(clip(name, 80), f.known))
		}
	}
}
