package plugintest

import (
	"fmt"
	"strings"
)

// themes are the parts of the page of rules, in the order of the table.
var themes = map[string]string{
	"start": "Start and description", "faults": "Faults and the end of processes", "options": "Options", "decisions": "Decisions of planners",
	"rows": "Rows and batches", "sampler": "Samplers", "trainer": "Trainers", "latency": "Latency", "replay": "Replay",
}

// rulesPage is the table of rules in Markdown, as the documentation has it.
func rulesPage() string {
	var b strings.Builder
	var order []string
	byTheme := map[string][]Rule{}
	for _, r := range Rules() {
		if byTheme[r.Theme] == nil {
			order = append(order, r.Theme)
		}
		byTheme[r.Theme] = append(byTheme[r.Theme], r)
	}
	for _, theme := range order {
		fmt.Fprintf(&b, "\n### %s\n\n| rule | what | why | of |\n|---|---|---|---|\n", themes[theme])
		for _, r := range byTheme[theme] {
			kinds := "all"
			if r.Kinds != nil {
				var words []string
				for _, k := range r.Kinds {
					words = append(words, string(k)+"s")
				}
				kinds = strings.Join(words, ", ")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.ID, r.Text, r.Why, kinds)
		}
	}
	return b.String() + "\n"
}
