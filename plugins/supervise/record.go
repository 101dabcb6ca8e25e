package supervise

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// record is one entry of a plugin's log, as hclog writes it in JSON.
type record struct {
	level   hclog.Level
	message string
	values  map[string]any
}

// parseRecord reads a line; false where it is none.
func parseRecord(line string) (record, bool) {
	if !strings.HasPrefix(line, "{") {
		return record{}, false
	}
	var values map[string]any
	if json.Unmarshal([]byte(line), &values) != nil {
		return record{}, false
	}
	message, said := values["@message"].(string)
	text, _ := values["@level"].(string)
	level := hclog.LevelFromString(text)
	if !said || level == hclog.NoLevel {
		return record{}, false
	}
	maps.DeleteFunc(values, func(name string, _ any) bool { return strings.HasPrefix(name, "@") }) // the host says when and who
	return record{level, message, values}, true
}

// write puts the record into the log. Values with several lines, stacks above all, come last, so that they stand below the line.
func (r *record) write(log hclog.Logger) {
	if r.level < log.GetLevel() {
		return
	}
	names := slices.Sorted(maps.Keys(r.values))
	lines := func(name string) bool { s, ok := r.values[name].(string); return ok && strings.Contains(s, "\n") }
	var args, last []any
	for _, name := range names {
		if lines(name) {
			last = append(last, name, block(r.values[name].(string)))
		} else {
			args = append(args, name, r.values[name])
		}
	}
	log.Log(r.level, r.message, append(args, last...)...)
}

// block is a text of several lines, as hclog shows it best: it sets a value apart from the line when there is a newline in it, and
// escapes tabs.
func block(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\t", "    ") + "\n"
}
