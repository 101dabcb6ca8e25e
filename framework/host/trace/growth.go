package trace

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// lengths tells the lengths that rows which grow have in the end, and how often the cap refused growth.
func (s *Summary) lengths() string {
	sum, least, most, inserted, capped, steps := 0, math.MaxInt, 0, 0, 0, 0
	for _, r := range s.Rows {
		sum, least, most, inserted, steps = sum+r.Length, min(least, r.Length), max(most, r.Length), inserted+r.Inserted, steps+r.Capped
		if r.Capped > 0 {
			capped++
		}
	}
	line := fmt.Sprintf("lengths mean %.1f, from %d to %d  inserted %d", float64(sum)/float64(len(s.Rows)), least, most, inserted)
	if capped > 0 {
		line += fmt.Sprintf("  refused by the cap of %d in %s (%s)", s.Growth.Cap, count(capped, "row"), count(steps, "step"))
	}
	return line
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// grown says how far a row grew and what kept it from growing further.
func (t *Trace) grown(r *Row, s *RowSummary) string {
	line := fmt.Sprintf("length %d -> %d  inserted %d", len(r.Start), s.Length, s.Inserted)
	if s.Deleted > 0 {
		line += fmt.Sprintf("  dropped %d", s.Deleted)
	}
	if s.Capped > 0 {
		line += fmt.Sprintf("  refused by the cap of %d in %s", t.Header.Growth.Cap, count(s.Capped, "step"))
	}
	return line
}

// lives tells of each token of the last canvas that was not given the step that inserted it and the step that opened it last.
func (t *Trace) lives(r *Row) string {
	c := t.Replay(r, len(r.Steps))
	born, opened := r.steps(c.Born), r.steps(c.Opened)
	var b strings.Builder
	for i, id := range c.Tokens {
		if !c.Blank[i] {
			continue
		}
		until := "masked"
		if opened[i] >= 0 {
			until = fmt.Sprint(opened[i] + 1)
		}
		fmt.Fprintf(&b, "  %s %d>%s", cmp.Or(t.piece(id), "∅"), born[i]+1, until)
	}
	return b.String()
}
