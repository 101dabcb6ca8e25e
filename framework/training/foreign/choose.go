package foreign

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// choose keeps what is trained.
func (r *reader) choose(all []*candidate) ([]*candidate, error) {
	for _, pattern := range slices.Concat(r.Train, r.Freeze) {
		some := false
		for _, c := range all {
			hit, err := path.Match(pattern, c.name)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w; expected a pattern such as bert.encoder.*", pattern, err)
			}
			some = some || hit
		}
		if !some {
			return nil, fmt.Errorf("pattern %q: it matches no parameter; the parameters are %s", pattern, some8(all))
		}
	}
	var out []*candidate
	for _, c := range all {
		matches := func(pattern string) bool {
			hit, _ := path.Match(pattern, c.name)
			return hit
		}
		why := c.fixed
		if slices.ContainsFunc(r.Train, matches) {
			why = ""
		} else if len(r.Train) > 0 && why == "" {
			why = "not in the patterns to train"
		}
		if slices.ContainsFunc(r.Freeze, matches) {
			why = "in the patterns to freeze"
		}
		if why != "" {
			r.report.Frozen = append(r.report.Frozen, Frozen{Name: c.name, Reason: why})
			continue
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing is left to train: no float32 weights reach the logits, or all are frozen; change the patterns, or export the model with its weights")
	}
	return out, nil
}

// some8 lists the first names for messages.
func some8(all []*candidate) string {
	var out []string
	for _, c := range all[:min(len(all), 8)] {
		out = append(out, c.name)
	}
	if len(all) > 8 {
		out = append(out, fmt.Sprintf("and %d more", len(all)-8))
	}
	return strings.Join(out, ", ")
}
