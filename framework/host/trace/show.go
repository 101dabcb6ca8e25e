package trace

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

var (
	title   = lipgloss.NewStyle().Bold(true)
	faint   = lipgloss.NewStyle().Faint(true)
	fresh   = lipgloss.NewStyle().Foreground(lipgloss.Green).Bold(true)
	again   = lipgloss.NewStyle().Foreground(lipgloss.Red)
	newborn = lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true)
	curve   = lipgloss.NewStyle().Foreground(lipgloss.Blue)
)

// Look says how a trace is drawn.
type Look struct {
	Width  int  // columns; 0: no limit
	Styled bool // colours; else steps tell in words what they did
}

// Overview lists the rows, one a line.
func (t *Trace) Overview(look Look) string {
	var b strings.Builder
	b.WriteString(t.head(look))
	rows := t.Summarise().Rows
	remasked := slices.ContainsFunc(rows, func(s RowSummary) bool { return s.Revised > s.Overwritten })
	overwritten := slices.ContainsFunc(rows, func(s RowSummary) bool { return s.Overwritten > 0 })
	for _, s := range rows {
		line := fmt.Sprintf("row %-4d %-10s NFE %-4d steps %-4d", s.Row, s.Finish, s.NFE, s.Steps)
		if remasked {
			line += fmt.Sprintf(" masked again %-3d", s.Revised-s.Overwritten)
		}
		if overwritten {
			line += fmt.Sprintf(" overwritten %-3d", s.Overwritten)
		}
		if t.Header.Growth != nil {
			line += fmt.Sprintf(" length %-4d", s.Length)
		}
		line += " " + s.Text
		if s.Error != "" {
			line += "  (" + clean(s.Error) + ")"
		}
		b.WriteString(look.cut(strings.TrimRight(line, " ")) + "\n")
	}
	return b.String()
}

// Row draws the timeline of a row: what each step opened, overwrote, masked again and inserted, and the entropy over the steps. Of rows
// that grow it tells the length over the steps, and of each token of the answer when it was inserted and when it was opened.
func (t *Trace) Row(r *Row, look Look) string {
	var b strings.Builder
	b.WriteString(t.head(look))
	s := t.summary(r)
	fmt.Fprintf(&b, "%s  %s  NFE %d  steps %d  blanks %d  tokens per NFE %.2f\n", look.in(title, fmt.Sprintf("row %d", r.Index)), s.Finish, s.NFE, s.Steps, s.Blanks, ratio(s.Opened, s.NFE))
	if t.Header.Growth != nil {
		b.WriteString(t.grown(r, &s) + "\n")
	}
	if s.Error != "" {
		b.WriteString(look.in(again, "error "+clean(s.Error)) + "\n")
	}
	points := t.timeline(r)
	entropies, counts, lengths := make([]float64, len(points)), make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		entropies[i], counts[i], lengths[i] = math.NaN(), float64(p.Opened), float64(p.Length)
		if p.Entropy != nil {
			entropies[i] = *p.Entropy
		}
	}
	b.WriteString(look.spark("entropy", entropies, "nats a step") + look.spark("opened", counts, "tokens a step"))
	if t.Header.Growth != nil {
		b.WriteString(look.spark("length", lengths, "positions"))
	}
	k, lines := -1, quiet{look: look}
	for c := range t.play(r, len(r.Steps)) {
		if k++; k > 0 {
			lines.add(&r.Steps[k-1], t.stepLine(&r.Steps[k-1], &points[k-1], c.over, look))
		}
	}
	b.WriteString(lines.text())
	fmt.Fprintf(&b, "%s %s\n", look.in(faint, "result"), s.Text)
	if lives := t.lives(r); t.Header.Growth != nil && lives != "" {
		b.WriteString(look.in(faint, "lives") + lives + "\n")
	}
	return b.String()
}

// stepLine is one step: its number, what it did, and the tokens that it wrote with their positions, those of over over others.
func (t *Trace) stepLine(s *sampling.TraceEvent, p *Point, over []int32, look Look) string {
	line := fmt.Sprintf("step %-4d masked %-4d", p.Step+1, p.Masked)
	if t.Header.Growth != nil {
		line += fmt.Sprintf(" of %-4d", p.Length)
	}
	if p.Entropy != nil {
		line += fmt.Sprintf(" H %-5.2f", *p.Entropy)
	}
	line = look.in(faint, line)
	for i, w := range s.Opened {
		text := fmt.Sprintf("%d:%s", w[0], cmp.Or(t.piece(w[1]), "∅"))
		if i < len(s.Logp) && !math.IsNaN(float64(s.Logp[i])) {
			text += look.in(faint, fmt.Sprintf(" %.2f", math.Exp(float64(s.Logp[i]))))
		}
		sign := look.in(fresh, "+")
		if slices.Contains(over, w[0]) {
			sign = look.in(again, "~")
		}
		line += "  " + sign + text
	}
	for _, at := range s.Remasked {
		line += "  " + look.in(again, fmt.Sprintf("-%d", at))
	}
	for _, at := range s.Deleted {
		line += "  " + look.in(again, fmt.Sprintf("x%d", at))
	}
	for _, in := range s.Inserted {
		line += "  " + look.in(newborn, fmt.Sprintf("^%d", in[0]))
		if in[1] > 1 {
			line += look.in(newborn, fmt.Sprintf("*%d", in[1]))
		}
	}
	return line
}

// Step draws the whole row when n of its steps are done, those counted that did nothing and are not recorded.
func (t *Trace) Step(r *Row, n int, look Look) (string, error) {
	if n < 0 || n > r.StepCount() {
		return "", fmt.Errorf("row %d has %d steps, and no step %d; 0 is its start", r.Index, r.StepCount(), n)
	}
	recorded := 0
	for recorded < len(r.Steps) && r.Steps[recorded].Step < n {
		recorded++
	}
	var b strings.Builder
	b.WriteString(t.head(look))
	c := t.after(r, recorded)
	fmt.Fprintf(&b, "%s  after step %d of %d  masked %d", look.in(title, fmt.Sprintf("row %d", r.Index)), n, r.StepCount(), t.Blanks(c.Tokens))
	if t.Header.Growth != nil {
		fmt.Fprintf(&b, " of %d", len(c.Tokens))
	}
	b.WriteByte('\n')
	g := t.Header.Grid
	grid := g != nil && len(c.Tokens)%g.Cols == 0 && len(c.Tokens)/g.Cols == g.Rows
	for i, id := range c.Tokens {
		text := t.piece(id)
		if grid {
			text = cmp.Or(text, "·")
		}
		switch {
		case id == t.mask && recorded > 0 && c.Born[i] == recorded:
			text = look.in(newborn, text)
		case id == t.mask:
			text = look.in(faint, text)
		case recorded > 0 && c.Written[i] == recorded:
			text = look.in(fresh, text)
		}
		b.WriteString(text)
		switch {
		case grid && (i+1)%g.Cols == 0:
			b.WriteByte('\n')
		case grid:
			b.WriteByte(' ')
		}
	}
	if !grid {
		b.WriteByte('\n')
	}
	if recorded > 0 {
		k := recorded - 1
		b.WriteString(t.stepLine(&r.Steps[k], &t.timeline(r)[k], c.over, look) + "\n")
	}
	return b.String(), nil
}

// head names what ran.
func (t *Trace) head(look Look) string {
	h := t.Header
	planner := described(h.Planner, h.Options)
	line := look.in(title, clean(h.Model))
	if planner != "" { // the sampler decides where rows grow
		line += "  planner " + clean(planner)
	}
	line += fmt.Sprintf("  sampler %s  seed %d", clean(described(h.Sampler, h.SamplerOptions)), h.Seed)
	if h.Provider != "" {
		line += "  on " + clean(h.Provider)
	}
	s := t.Summarise()
	line += fmt.Sprintf("\n%d rows  NFE %d  tokens per NFE %.2f\n", len(s.Rows), s.NFE, s.TokensPerNFE)
	if g := h.Growth; g != nil && len(s.Rows) > 0 {
		line += s.lengths() + "\n"
	}
	if t.LeftOut > 0 {
		line += fmt.Sprintf("%d further rows had no room in this file\n", t.LeftOut)
	}
	if t.Torn > 0 {
		line += fmt.Sprintf("the file ends in the middle of line %d: what stands before it is shown\n", t.Torn)
	}
	return line
}

// described names a plugin with its options.
func described(name string, options any) string {
	if options, ok := options.(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(options)) {
			name += fmt.Sprintf(" %s=%v", key, options[key])
		}
	}
	return name
}

var levels = []rune("▁▂▃▄▅▆▇█")

// spark draws numbers as a line of small bars, the means of neighbours where there are more than fit; nothing without numbers.
func (l Look) spark(name string, values []float64, unit string) string {
	most, columns := math.Inf(-1), 60
	for _, v := range values {
		if !math.IsNaN(v) {
			most = max(most, v)
		}
	}
	if math.IsInf(most, -1) {
		return ""
	}
	if l.Width > 0 {
		columns = min(max(l.Width-34, 10), 100)
	}
	columns = min(columns, len(values))
	var b strings.Builder
	for i := range columns {
		from, to := i*len(values)/columns, (i+1)*len(values)/columns
		sum, n := 0.0, 0
		for _, v := range values[from:to] {
			if !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		share := max(sum/float64(n)/max(most, 1e-12), 0) // what is below zero is nobody's entropy
		b.WriteRune(levels[int(math.Round(share*float64(len(levels)-1)))])
	}
	return fmt.Sprintf("%-8s%s  up to %.4g %s\n", name, l.in(curve, b.String()), most, unit)
}

func (l Look) in(s lipgloss.Style, text string) string {
	if !l.Styled {
		return text
	}
	return s.Render(text)
}

// cut shortens a line to the width.
func (l Look) cut(line string) string {
	if l.Width <= 0 {
		return line
	}
	return ansi.Truncate(line, l.Width, "…")
}
