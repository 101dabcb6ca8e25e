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

var lawRows = flag.Int("law.rows", 800, "rows that TestTable samples for each figure: `just bench-insertion-laws` takes more")

// Total variation between the sampled law and the truth, and between their lengths, by steps; the model is the exact posterior of twelve
// strings. More steps are never worse by more than chance, of which 10^-8 is left, and none of the greedy choices is where all speeds
// are equal.
func TestTable(t *testing.T) {
	var g referenceLaws
	goldenfile.Read(t, "testdata/laws.json.gz", &g)
	unequal := exact.Toy()
	unequal.BIn, unequal.BUm = g.BIn, g.BUm
	insertions := unequal
	insertions.BUm = nil
	steps, rows := []int{8, 32, 128, 512}, *lawRows
	if rows < 3000 {
		steps = steps[:2]
	}
	var table strings.Builder
	line := func(name string, values func(n int) string) {
		fmt.Fprintf(&table, "| %s |", name)
		for _, n := range steps {
			fmt.Fprintf(&table, " %s |", values(n))
		}
		table.WriteString("\n")
	}
	line("speeds: events, grid", func(n int) string { return fmt.Sprint(n) })
	line("---", func(int) string { return "---" })
	for _, s := range []struct {
		name    string
		law     exact.Law
		options string
	}{
		{"equal: poisson, code (published)", exact.Toy(), `{"events":"poisson","grid":"code"}`},
		{"equal: poisson, clock", exact.Toy(), `{"events":"poisson"}`},
		{"equal: **integrated, clock** (default)", exact.Toy(), `{}`},
		{"equal: integrated, code", exact.Toy(), `{"grid":"code"}`},
		{"equal: euler, uniform", exact.Toy(), `{"events":"euler","grid":"uniform"}`},
		{"equal: default, confidence top_prob", exact.Toy(), `{"confidence":"top_prob"}`},
		{"equal: default, max_rate_step 0.1", exact.Toy(), `{"max_rate_step":0.1}`},
		{"b_in unequal: default", insertions, `{}`},
		{"b_in unequal: default, confidence top_prob", insertions, `{"confidence":"top_prob"}`},
		{"both unequal: default", unequal, `{}`},
		{"both unequal: default, confidence top_prob", unequal, `{"confidence":"top_prob"}`},
	} {
		last := 1.0
		line(s.name, func(n int) string {
			results := setting{law: s.law, options: s.options, steps: n, cap: 6}.sample(t, rows, uint64(n))
			tv, lengths, chance := s.law.Distance(tokens(results))
			if tv > last+chance {
				t.Errorf("%s: total variation %.3f in %d steps, %.3f in fewer", s.name, tv, n, last)
			}
			last = tv
			nfe := 0
			for _, r := range results {
				nfe += r.NFE
			}
			if strings.Contains(s.options, "max_rate") {
				return fmt.Sprintf("%.3f (%.3f), NFE %.1f", tv, lengths, float64(nfe)/float64(rows))
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
		const rows = 1500
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
