package insertion_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/insertion/exact"
)

var lawRows = flag.Int("law.rows", 2000, "rows that TestTable samples for each figure: `just bench-insertion-laws` takes more")

// The sheet's table: total variation between the sampled law and the truth, by steps; the model is the exact posterior.
func TestTable(t *testing.T) {
	steps, rows := []int{8, 32, 128, 512}, *lawRows
	if rows < 10000 {
		steps = steps[:3]
	}
	law := exact.Toy()
	var table strings.Builder
	line := func(name string, values func(n int) string) {
		fmt.Fprintf(&table, "| %s |", name)
		for _, n := range steps {
			fmt.Fprintf(&table, " %s |", values(n))
		}
		table.WriteString("\n")
	}
	line("events, grid", func(n int) string { return fmt.Sprint(n) })
	line("---", func(int) string { return "---" })
	for _, s := range []struct{ name, options string }{
		{"poisson, code (published)", `{"events":"poisson","grid":"code"}`},
		{"poisson, clock", `{"events":"poisson"}`},
		{"integrated, clock (default)", `{}`},
		{"integrated, code", `{"grid":"code"}`},
		{"euler, uniform", `{"events":"euler","grid":"uniform"}`},
		{"integrated, clock, max_rate_step 0.1", `{"max_rate_step":0.1}`},
	} {
		last := 1.0
		line(s.name, func(n int) string {
			results := setting{law: law, options: s.options, steps: n, cap: 6}.sample(t, rows, uint64(n))
			tv, lengths, chance := law.Distance(tokens(results))
			if tv > last+chance {
				t.Errorf("%s: total variation %.3f in %d steps, %.3f in fewer", s.name, tv, n, last)
			}
			last = tv
			nfe := 0
			for _, r := range results {
				nfe += r.NFE
			}
			if mean := float64(nfe) / float64(rows); strings.Contains(s.options, "max_rate") {
				return fmt.Sprintf("%.3f (%.3f), NFE %.1f", tv, lengths, mean)
			}
			return fmt.Sprintf("%.3f (%.3f)", tv, lengths)
		})
	}
	t.Log("\n" + table.String())
}
