package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Summary says at the end of a run what was made, how fast, and where the time went.
type Summary struct {
	Accounts sampling.Accounts
	Finishes map[sampling.Finish]int
	Resumed  int    // rows that an earlier run had answered
	Until    bool   // rows were completed before a stop rule cut them, so that both NFEs are known
	Model    string // "rxnmapper-albert"
	Planner  string // "eb gamma=0.1"
	Sampler  string
	Provider string // what really ran: "onnx/cpu, 2 threads"
	Notes    []string
	Seed     uint64
	Lengths  *Lengths // of rows that grow, else nil
}

// Lengths says how far the rows of an insertion model grew.
type Lengths struct {
	Rows, Sum   int // finished rows, their positions
	Least, Most int
	Capped      int // rows that the cap kept from growing
	CappedSteps int // their steps in which it did
}

// Add counts a finished row.
func (l *Lengths) Add(r sampling.Result) {
	n := len(r.Tokens)
	if l.Rows == 0 {
		l.Least = n
	}
	l.Rows, l.Sum, l.Least, l.Most = l.Rows+1, l.Sum+n, min(l.Least, n), max(l.Most, n)
	if r.Capped > 0 {
		l.Capped, l.CappedSteps = l.Capped+1, l.CappedSteps+r.Capped
	}
}

func (l *Lengths) line() string {
	line := fmt.Sprintf("mean %.1f, from %d to %d", float64(l.Sum)/float64(l.Rows), l.Least, l.Most)
	if l.Capped > 0 {
		line += fmt.Sprintf("; the cap on length refused insertions in %s (%s)", plural(l.Capped, "row"), plural(l.CappedSteps, "step"))
	}
	return line
}

// Write prints the summary.
func (s Summary) Write(w io.Writer) error {
	a, rows := s.Accounts, 0
	for _, n := range s.Finishes {
		rows += n
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rows      %s", plural(rows, "row"))
	if parts := s.finishes(); parts != "" {
		fmt.Fprintf(&b, " (%s)", parts)
	}
	if s.Resumed > 0 {
		fmt.Fprintf(&b, ", %d more kept from the run before", s.Resumed)
	}
	fmt.Fprintf(&b, ", %s in %s\n", plural(a.Tokens, "token"), short(a.Wall))
	if s.Lengths != nil && s.Lengths.Rows > 0 {
		fmt.Fprintf(&b, "lengths   %s\n", s.Lengths.line())
	}
	if a.Passes > 0 {
		fmt.Fprintf(&b, "speed     NFE %d (%s) in %s, %s, %.2f ms per NFE, %.0f tokens per second\n",
			a.RowPasses, s.perRow(rows), s.passes(), perNFE(a.Tokens, a.RowPasses),
			ms(a.Wall)/float64(a.Passes), float64(a.Tokens)/max(a.Wall.Seconds(), 1e-9))
		fmt.Fprintf(&b, "time      %s denoiser, %s planner, %s host; %.1f rows to a forward pass\n",
			share(a.Denoise, a.Wall), share(a.Plan, a.Wall), share(a.Wall-a.Denoise-a.Plan-a.Score, a.Wall),
			float64(a.RowPasses)/float64(a.Passes))
	}
	if a.ScorePasses > 0 {
		fmt.Fprintf(&b, "networks  %d calls of the denoiser, %d of the planner's own network (%s of the time)\n", a.Passes, a.ScorePasses, share(a.Score, a.Wall))
	}
	fmt.Fprintf(&b, "ran       model %s, planner %s, sampler %s, runtime %s\n", s.Model, s.Planner, s.Sampler, s.Provider)
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "note      %s\n", note)
	}
	fmt.Fprintf(&b, "seed      %d\n", s.Seed)
	_, err := io.WriteString(w, b.String())
	return err
}

// perRow is the mean NFE, and with Until that up to the stop rule.
func (s Summary) perRow(rows int) string {
	mean := func(n int) float64 { return float64(n) / float64(max(rows, 1)) }
	if !s.Until {
		return fmt.Sprintf("%.1f a row", mean(s.Accounts.RowPasses))
	}
	return fmt.Sprintf("%.1f a row, %.1f until the stop rule", mean(s.Accounts.RowPasses), mean(s.Accounts.Until))
}

// passes counts the forward passes, partial ones apart where there are any.
func (s Summary) passes() string {
	text := plural(s.Accounts.Passes, "forward pass")
	if s.Accounts.Partial > 0 {
		text += fmt.Sprintf(" (%d partial)", s.Accounts.Partial)
	}
	return text
}

func (s Summary) finishes() string {
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(s.Finishes)) {
		how := string(f)
		switch f {
		case sampling.FinishSteps:
			how = "out of steps"
		case sampling.FinishLength:
			how = "at the cap on length"
		}
		parts = append(parts, fmt.Sprintf("%d %s", s.Finishes[f], how))
	}
	return strings.Join(parts, ", ")
}

func plural(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func share(part, whole time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*part.Seconds()/max(whole.Seconds(), 1e-9))
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

// short rounds a duration to what a reader wants to know.
func short(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return d.Round(time.Second)
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}
