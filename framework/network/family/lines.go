package family

import (
	"regexp"
	"strings"
	"sync"
)

// line says where a tensor goes. A star stands for the number of a layer, or of a group of layers. Names without .weight or .bias at
// their end stand for both.
type line struct {
	from string
	to   string // a parameter, or several with " + " between them that share the rows; "": it is left out
	skip int64  // rows before those that are used
	left string // what is left out, in notes
	own  bool   // of a head that is not tied, it counts before another tensor for the same parameter
}

// match finds the line of a tensor and the names of its parameters.
func match(lines []line, name string) (found line, to []string, ok bool) {
	for _, l := range lines {
		m := pattern(l.from, l.whole()).FindStringSubmatch(name)
		if m == nil {
			continue
		}
		layer, suffix := m[1], m[2]
		if l.to == "" {
			return l, nil, true
		}
		for _, p := range strings.Split(l.to, " + ") {
			to = append(to, strings.Replace(p, "*", layer, 1)+suffix)
		}
		return l, to, true
	}
	return line{}, nil, false
}

// whole tells whether a line's name is that of one tensor.
func (l line) whole() bool {
	last := l.from[strings.LastIndexByte(l.from, '.')+1:]
	return last == "weight" || last == "bias" || last == "inv_freq" || strings.HasSuffix(last, "_ids")
}

var patterns sync.Map // compiled expressions by their text

// pattern has two groups: the layer, and what a name that stands for both leaves out.
func pattern(name string, whole bool) *regexp.Regexp {
	before, after, starred := strings.Cut(name, "*")
	layer, end := `()`, `(\.weight|\.bias)`
	if starred {
		layer = `(0|[1-9][0-9]*)`
	}
	if whole {
		end = `()`
	}
	text := "^" + regexp.QuoteMeta(before) + layer + regexp.QuoteMeta(after) + end + "$"
	if p, ok := patterns.Load(text); ok {
		return p.(*regexp.Regexp)
	}
	p := regexp.MustCompile(text)
	patterns.Store(text, p)
	return p
}

// plain is the name of a tensor without what wrappers put before it, without the family's own prefix, and with the newer words for norms.
func (f *family) plain(name string) string {
	for again := true; again; {
		again = false
		for _, wrapper := range []string{"module.", "_orig_mod.", "m."} {
			var cut bool
			name, cut = strings.CutPrefix(name, wrapper)
			again = again || cut
		}
	}
	for _, prefix := range f.prefixes {
		name = strings.TrimPrefix(name, prefix)
	}
	if stem, ok := strings.CutSuffix(name, ".gamma"); ok {
		name = stem + ".weight"
	} else if stem, ok := strings.CutSuffix(name, ".beta"); ok {
		name = stem + ".bias"
	}
	return name
}

// regexpNumber finds the number of a layer in a name.
var regexpNumber = regexp.MustCompile(`\.\d+\.`)
