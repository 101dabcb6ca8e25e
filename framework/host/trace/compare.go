package trace

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Comparison holds the same rows of two traces against each other.
type Comparison struct {
	A         string         `json:"a"` // names of the files
	B         string         `json:"b"`
	Rows      []RowPair      `json:"rows"`
	OnlyA     []int64        `json:"only_a,omitempty"` // rows that the other trace lacks
	OnlyB     []int64        `json:"only_b,omitempty"`
	Same      int            `json:"same"`      // rows with the same answer
	Agreement float64        `json:"agreement"` // share of equal tokens among positions that were blank in both
	NFE       [2]int         `json:"nfe"`       // of the compared rows
	Settings  []SettingsPair `json:"settings,omitempty"`
}

// SettingsPair is something that the two headers say differently.
type SettingsPair struct {
	Key string `json:"key"`
	A   any    `json:"a"`
	B   any    `json:"b"`
}

// RowPair is one row in both traces. Steps count from 0.
type RowPair struct {
	Row       int64     `json:"row"`
	NFE       [2]int    `json:"nfe"`
	Steps     [2]int    `json:"steps"`
	Finish    [2]string `json:"finish"`
	Revised   [2]int    `json:"revised"`                        // positions masked again or overwritten
	FirstStep *int      `json:"first_different_step,omitempty"` // the first recorded step that did not do the same; none: all did
	Different []int32   `json:"different,omitempty"`            // positions with another token in the end
	Compared  int       `json:"compared"`                       // positions that were blank in both at the start
	Agreement float64   `json:"agreement"`                      // share of equal tokens among them; 1 without any
	Order     *float64  `json:"order_tau,omitempty"`            // Kendall's tau-b of the steps that opened them last; none where it is undefined
	Given     bool      `json:"same_start"`                     // both began with the same tokens
	Text      [2]string `json:"text"`
}

// Compare holds the rows that both traces have against each other. Traces of models with different tokens are compared by token
// id all the same; the error names rows of different lengths.
func Compare(a, b *Trace) (*Comparison, error) {
	c := &Comparison{A: a.Name, B: b.Name, Rows: []RowPair{}, Settings: settings(a, b)}
	equal, compared := 0, 0
	i, j := 0, 0
	for i < len(a.Rows) || j < len(b.Rows) {
		switch {
		case j == len(b.Rows) || i < len(a.Rows) && a.Rows[i].Index < b.Rows[j].Index:
			c.OnlyA = append(c.OnlyA, a.Rows[i].Index)
			i++
			continue
		case i == len(a.Rows) || b.Rows[j].Index < a.Rows[i].Index:
			c.OnlyB = append(c.OnlyB, b.Rows[j].Index)
			j++
			continue
		}
		p, same, err := pair(a, b, a.Rows[i], b.Rows[j])
		if err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, p)
		equal, compared = equal+same, compared+p.Compared
		c.NFE[0], c.NFE[1] = c.NFE[0]+p.NFE[0], c.NFE[1]+p.NFE[1]
		if len(p.Different) == 0 {
			c.Same++
		}
		i, j = i+1, j+1
	}
	if len(c.Rows) == 0 {
		return nil, fmt.Errorf("%s and %s have no row in common; compare two runs over the same rows", a.Name, b.Name)
	}
	c.Agreement = share(equal, compared)
	return c, nil
}

// pair compares one row; same counts the equal tokens among the compared positions.
func pair(a, b *Trace, ra, rb *Row) (_ RowPair, same int, _ error) {
	if len(ra.Start) != len(rb.Start) {
		return RowPair{}, 0, fmt.Errorf("row %d has %d positions in %s and %d in %s; compare two runs over the same rows", ra.Index, len(ra.Start), a.Name, len(rb.Start), b.Name)
	}
	p := RowPair{Row: ra.Index, NFE: [2]int{ra.NFE(), rb.NFE()}, Steps: [2]int{ra.StepCount(), rb.StepCount()}, Finish: [2]string{ra.Finish(), rb.Finish()},
		Revised: [2]int{a.summary(ra).Revised, b.summary(rb).Revised}, Given: slices.Equal(ra.Start, rb.Start),
		Text: [2]string{a.text(a.Final(ra)), b.text(b.Final(rb))}, FirstStep: firstDifferent(ra, rb)}
	ca, cb := a.Replay(ra, len(ra.Steps)), b.Replay(rb, len(rb.Steps))
	var orderA, orderB []int
	for i := range ca.Tokens {
		agree := ca.Tokens[i] == cb.Tokens[i] || ca.Tokens[i] == a.mask && cb.Tokens[i] == b.mask
		if !agree {
			p.Different = append(p.Different, int32(i))
		}
		if ra.Start[i] != a.mask || rb.Start[i] != b.mask {
			continue
		}
		if p.Compared++; agree {
			same++
		}
		if ca.Opened[i] > 0 && cb.Opened[i] > 0 {
			orderA, orderB = append(orderA, ca.Opened[i]), append(orderB, cb.Opened[i])
		}
	}
	p.Agreement = share(same, p.Compared)
	if tau := kendall(orderA, orderB); !math.IsNaN(tau) {
		p.Order = &tau
	}
	return p, same, nil
}

// firstDifferent is the first recorded step that wrote or masked something else.
func firstDifferent(a, b *Row) *int {
	for k := range max(len(a.Steps), len(b.Steps)) {
		switch {
		case k >= len(a.Steps):
			return &b.Steps[k].Step
		case k >= len(b.Steps):
			return &a.Steps[k].Step
		}
		x, y := &a.Steps[k], &b.Steps[k]
		if !sameSet(x.Opened, y.Opened) || !sameSet(each(x.Remasked), each(y.Remasked)) {
			return &x.Step
		}
	}
	return nil
}

func each(positions []int32) [][2]int32 {
	out := make([][2]int32, len(positions))
	for i, p := range positions {
		out[i][0] = p
	}
	return out
}

// sameSet compares what was written regardless of its order.
func sameSet(a, b [][2]int32) bool {
	order := func(x, y [2]int32) int { return slices.Compare(x[:], y[:]) }
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}

// kendall is Kendall's tau-b of two rankings with ties (Kendall 1945): (C - D) / sqrt((n0 - n1) (n0 - n2)), with n1 and n2 the
// pairs tied in each. NaN where one of them ties everything.
func kendall(a, b []int) float64 {
	var concordance, inA, inB float64
	for i := range a {
		for j := range i {
			x, y := sign(a[i]-a[j]), sign(b[i]-b[j])
			concordance, inA, inB = concordance+x*y, inA+x*x, inB+y*y
		}
	}
	if inA == 0 || inB == 0 {
		return math.NaN()
	}
	return math.Round(1e6*concordance/math.Sqrt(inA*inB)) / 1e6
}

func sign(x int) float64 { return float64(min(max(x, -1), 1)) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return math.Round(1e6*float64(part)/float64(whole)) / 1e6
}

// settings lists what the headers say differently.
func settings(a, b *Trace) []SettingsPair {
	var out []SettingsPair
	for _, s := range []SettingsPair{
		{"model", a.Header.Model, b.Header.Model}, {"planner", a.Header.Planner, b.Header.Planner}, {"options", a.Header.Options, b.Header.Options},
		{"sampler", a.Header.Sampler, b.Header.Sampler}, {"sampler_options", a.Header.SamplerOptions, b.Header.SamplerOptions}, {"seed", a.Header.Seed, b.Header.Seed},
	} {
		if fmt.Sprint(s.A) != fmt.Sprint(s.B) {
			out = append(out, s)
		}
	}
	return out
}

// Text draws the comparison, one row below the other.
func (c *Comparison) Text(look Look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s %s\n", look.in(title, "A"), c.A, look.in(title, "B"), c.B)
	for _, s := range c.Settings {
		fmt.Fprintf(&b, "%s %v | %v\n", s.Key, s.A, s.B)
	}
	fmt.Fprintf(&b, "rows %d, same answer %d, tokens agree %.1f%%, NFE %d | %d\n", len(c.Rows), c.Same, 100*c.Agreement, c.NFE[0], c.NFE[1])
	for _, only := range []struct {
		rows []int64
		in   string
	}{{c.OnlyA, "A"}, {c.OnlyB, "B"}} {
		if len(only.rows) > 0 {
			fmt.Fprintf(&b, "%d rows are in %s alone, the first of them row %d\n", len(only.rows), only.in, only.rows[0])
		}
	}
	for _, p := range c.Rows {
		b.WriteString("\n" + p.draw(look))
	}
	return b.String()
}

func (p *RowPair) draw(look Look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  NFE %d | %d  steps %d | %d  %s | %s", look.in(title, fmt.Sprintf("row %d", p.Row)), p.NFE[0], p.NFE[1], p.Steps[0], p.Steps[1], p.Finish[0], p.Finish[1])
	if p.Revised != [2]int{} {
		fmt.Fprintf(&b, "  revised %d | %d", p.Revised[0], p.Revised[1])
	}
	if !p.Given {
		b.WriteString("  " + look.in(again, "different starts"))
	}
	first := "never"
	if p.FirstStep != nil {
		first = fmt.Sprintf("in step %d", *p.FirstStep+1)
	}
	fmt.Fprintf(&b, "\n  first differ %s, %d of %d tokens other, agreement %.1f%%", first, len(p.Different), p.Compared, 100*p.Agreement)
	if p.Order != nil {
		fmt.Fprintf(&b, ", opening order tau %.2f", *p.Order)
	}
	b.WriteByte('\n')
	if p.Text[0] == p.Text[1] {
		b.WriteString(look.cut("  = "+p.Text[0]) + "\n")
		return b.String()
	}
	b.WriteString(look.cut("  A "+p.Text[0]) + "\n" + look.cut("  B "+p.Text[1]) + "\n")
	return b.String()
}
