package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Layer is the kind of source that a value came from; a later layer wins.
type Layer string

// The layers in order of growing strength.
const (
	LayerDefault Layer = "default"
	LayerModel   Layer = "model" // the model's generation_config.json
	LayerFile    Layer = "file"
	LayerEnv     Layer = "environment"
	LayerFlag    Layer = "flag"
)

// Origin says where a value was given.
type Origin struct {
	Layer Layer
	Place string // "mine.yaml:3", "MDMHOST_STEPS", "--steps"; empty for defaults
}

// String returns the place, or "default".
func (o Origin) String() string { return cmp.Or(o.Place, string(o.Layer)) }

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Origin Origin
	Key    string
	Text   string
}

// String reads "mine.yaml:3: steps: expected a whole number from 0, found many"; a flag that is spelt like the key stands
// for both.
func (p Problem) String() string {
	key := p.Key
	if strings.HasPrefix(p.Origin.Place, "--") && strings.HasSuffix(p.Origin.Place, key) {
		key = ""
	}
	var parts []string
	for _, s := range []string{p.Origin.Place, key, p.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is everything that is wrong with a configuration: an error that lists all of it.
type Problems []Problem

// Error lists the problems, one a line when there are several.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "configuration: " + p[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "configuration: %d problems", len(p))
	for _, one := range p {
		b.WriteString("\n  " + one.String())
	}
	return b.String()
}

// err returns the problems as an error, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Nearest returns the candidate that name was probably meant to be, or "". The last part of a dotted candidate counts
// as a name of its own, so that "temprature" finds "sampling.temperature". At most a third of the letters differ, or two in
// names of at least four, or one.
func Nearest(name string, candidates []string) string {
	best, least := "", min(max(2, len(name)/3), len(name)/2)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		d := levenshtein.Distance(name, c, nil)
		if !strings.Contains(name, ".") {
			d = min(d, levenshtein.Distance(name, c[strings.LastIndexByte(c, '.')+1:], nil))
		}
		if d < least || (d == least && best != "" && apart(c, name) < apart(best, name)) {
			best, least = c, d
		}
	}
	return best
}

// apart compares lengths: of two names that are equally near, the one of the same length was rather meant, since letters
// are more often swapped than lost.
func apart(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// DidYouMean returns "; did you mean X?", or what there is when nothing is near.
func DidYouMean(name string, candidates []string) string {
	if text := perhaps(name, candidates); text != "" || len(candidates) == 0 {
		return text
	}
	return "; there are " + strings.Join(slices.Sorted(slices.Values(candidates)), ", ")
}

// perhaps returns "; did you mean X?", or nothing when nothing is near.
func perhaps(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}
