package data

import (
	"fmt"
	"strings"
)

// Notes says, for people, what was left out or cut: a line for each set where something was.
func (d *Data) Notes() []string {
	var out []string
	for _, set := range []*Dataset{d.Train, d.Valid} {
		if set == nil {
			continue
		}
		name := set.name
		if d.dir == "" {
			name = "data." + name
		}
		if text := set.counts.String(); text != "" {
			out = append(out, name+": "+text)
		}
	}
	return out
}

// String says what did not become a row as it was, or nothing.
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n         int64
		what, how string
	}{{c.Skipped, "bad line", "left out"}, {c.Dropped, "row", "left out as too long"}, {c.Truncated, "row", "cut to data.length"}} {
		switch {
		case p.n == 0:
			continue
		case p.n > 1:
			p.what += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", p.n, p.what, p.how))
	}
	if len(c.Lines) > 0 {
		parts[0] += fmt.Sprintf(" (%s)", c.Lines[0])
	}
	return strings.Join(parts, ", ")
}
