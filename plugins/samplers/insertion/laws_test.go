package insertion_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
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

// referenceLaws is what testdata/laws.py wrote: at which strings the reference's own sampler ended.
type referenceLaws struct {
	Rows    int
	Strings []string
	P       []float64
	BIn     [][]float64 `json:"b_in"`
	BUm     [][]float64 `json:"b_um"`
	Laws    []struct {
		Speeds, Events, Grid, Confidence string
		Steps                            int
		Ends                             map[string]int
	}
}

// The sampler ends where the reference's does, as often: for every step rule and grid, learned speeds and greedy choices. Two samples of
// one law have a chi-squared of d degrees of freedom that exceeds d + 2 sqrt(18 d) + 36 in at most one case in e^18 (Laurent and Massart
// 2000), for all laws together in 3 of 10^7 runs.
func TestLawsOfReference(t *testing.T) {
	var g referenceLaws
	goldenfile.Read(t, "testdata/laws.json.gz", &g)
	equal, unequal := exact.Toy(), exact.Toy()
	unequal.BIn, unequal.BUm = g.BIn, g.BUm
	for seed, l := range g.Laws {
		s := setting{law: equal, steps: l.Steps, cap: 6, options: fmt.Sprintf(`{"events":%q,"grid":%q,"confidence":%q}`, l.Events, l.Grid, l.Confidence)}
		if l.Speeds == "unequal" {
			s.law = unequal
		}
		ours := map[string]int{}
		const rows = 3000
		for _, r := range s.sample(t, rows, uint64(900+seed)) {
			text := ""
			for _, token := range r.Tokens {
				text += string(rune('a' + token))
			}
			ours[text]++
		}
		chi, bins := 0.0, -1.0
		compare := func(reference, mine int) {
			if both := float64(reference + mine); both > 0 {
				x := float64(reference)*math.Sqrt(rows/float64(g.Rows)) - float64(mine)*math.Sqrt(float64(g.Rows)/rows)
				chi, bins = chi+x*x/both, bins+1
			}
		}
		rareReference, rareMine := 0, 0 // strings of which fewer than 5 are expected, together
		for text, n := range l.Ends {
			if n*rows/g.Rows < 5 {
				rareReference, rareMine = rareReference+n, rareMine+ours[text]
			} else {
				compare(n, ours[text])
			}
			delete(ours, text)
		}
		for _, n := range ours {
			rareMine += n
		}
		if compare(rareReference, rareMine); chi > bins+2*math.Sqrt(18*bins)+36 {
			t.Errorf("%v, speeds %s: chi-squared %.1f with %.0f degrees of freedom against the reference's strings", s, l.Speeds, chi, bins)
		}
		t.Logf("%v, speeds %s: chi-squared %.1f, %.0f degrees of freedom", s, l.Speeds, chi, bins)
	}
	if len(g.Laws) != 15 {
		t.Errorf("%d laws, expected 15", len(g.Laws))
	}
}
