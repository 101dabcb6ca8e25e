package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
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
	FirstWhat string    `json:"first_different,omitempty"`      // what it did otherwise: "opened", "masked again", "dropped" or "inserted", the first of them
	Different []int32   `json:"different,omitempty"`            // positions with another token in the end; of rows that grow those of A without a counterpart in B
	Missing   []int32   `json:"different_b,omitempty"`          // of rows that grow: positions of B without a counterpart in A
	Length    [2]int    `json:"length,omitzero"`                // of rows that grow: L in the end
	Inserted  [2]int    `json:"inserted,omitzero"`              // masks
	Compared  int       `json:"compared"`                       // positions that were blank in both at the start; of rows that grow the answer's, of the longer one
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
		if len(p.Different)+len(p.Missing) == 0 {
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
	sa, sb := a.summary(ra), b.summary(rb)
	p := RowPair{Row: ra.Index, NFE: [2]int{ra.NFE(), rb.NFE()}, Steps: [2]int{ra.StepCount(), rb.StepCount()}, Finish: [2]string{ra.Finish(), rb.Finish()},
		Revised: [2]int{sa.Revised, sb.Revised}, Given: slices.Equal(ra.Start, rb.Start), Text: [2]string{sa.Text, sb.Text}}
	p.FirstStep, p.FirstWhat = FirstDifferent(ra, rb)
	ca, cb := a.Replay(ra, len(ra.Steps)), b.Replay(rb, len(rb.Steps))
	pairs, grows := inPlace(len(ca.Tokens)), a.Header.Growth != nil || b.Header.Growth != nil
	if grows {
		p.Length, p.Inserted = [2]int{sa.Length, sb.Length}, [2]int{sa.Inserted, sb.Inserted}
		pairs = align(ca.Tokens, cb.Tokens)
		p.Different, p.Missing = alone(pairs, 0, len(ca.Tokens)), alone(pairs, 1, len(cb.Tokens))
	}
	var orderA, orderB []int
	for _, at := range pairs {
		i, j := at[0], at[1]
		agree := ca.Tokens[i] == cb.Tokens[j] || ca.Tokens[i] == a.mask && cb.Tokens[j] == b.mask
		if !agree {
			p.Different = append(p.Different, int32(i))
		}
		if !ca.Blank[i] || !cb.Blank[j] {
			continue
		}
		if p.Compared++; agree {
			same++
		}
		if ca.Opened[i] > 0 && cb.Opened[j] > 0 {
			orderA, orderB = append(orderA, ca.Opened[i]), append(orderB, cb.Opened[j])
		}
	}
	if grows {
		p.Compared = max(ca.blanks(), cb.blanks())
	}
	p.Agreement = share(same, p.Compared)
	if tau := kendall(orderA, orderB); !math.IsNaN(tau) {
		p.Order = &tau
	}
	return p, same, nil
}

// blanks counts the positions of the answer.
func (c *Canvas) blanks() int {
	n := 0
	for _, blank := range c.Blank {
		if blank {
			n++
		}
	}
	return n
}

// FirstDifferent is the first recorded step that did something else, and what: "opened", "masked again", "dropped" or "inserted", the first
// of them, or "" where one run did nothing any more. It is nil where all steps did the same.
func FirstDifferent(a, b *Row) (*int, string) {
	for k := range max(len(a.Steps), len(b.Steps)) {
		var x, y sampling.TraceEvent
		step := &x.Step
		if k < len(b.Steps) {
			y = b.Steps[k]
			step = &y.Step
		}
		if k < len(a.Steps) {
			x = a.Steps[k]
			step = &x.Step
		}
		for _, did := range []struct {
			what string
			a, b [][2]int32
		}{
			{"opened", x.Opened, y.Opened}, {"masked again", each(x.Remasked), each(y.Remasked)}, {"dropped", each(x.Deleted), each(y.Deleted)}, {"inserted", byGap(&x), byGap(&y)},
		} {
			if !sameSet(did.a, did.b) {
				return step, did.what
			}
		}
		if k >= len(a.Steps) || k >= len(b.Steps) {
			return step, "" // it did nothing, where the other run was over
		}
	}
	return nil, ""
}

// byGap sums what a step inserted into each gap.
func byGap(s *sampling.TraceEvent) [][2]int32 {
	var out [][2]int32
	for _, in := range s.Inserted {
		if i := slices.IndexFunc(out, func(o [2]int32) bool { return o[0] == in[0] }); i >= 0 {
			out[i][1] += in[1]
		} else {
			out = append(out, in)
		}
	}
	return out
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

// setting is a header's value in words: options as JSON, and "none" where there are none.
func setting(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case map[string]any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// Text draws the comparison, one row below the other.
func (c *Comparison) Text(look Look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s %s\n", look.in(title, "A"), c.A, look.in(title, "B"), c.B)
	for _, s := range c.Settings {
		fmt.Fprintf(&b, "%s %s | %s\n", s.Key, setting(s.A), setting(s.B))
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

// other counts the tokens that differ.
func (p *RowPair) other() string {
	if p.Length != [2]int{} {
		return fmt.Sprintf("%d | %d tokens that the other lacks", len(p.Different), len(p.Missing))
	}
	return fmt.Sprintf("%d of %d tokens other", len(p.Different), p.Compared)
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
		first = strings.TrimSuffix(fmt.Sprintf("in step %d: %s", *p.FirstStep+1, p.FirstWhat), ": ")
	}
	if p.Length != [2]int{} {
		fmt.Fprintf(&b, "\n  length %d | %d, inserted %d | %d", p.Length[0], p.Length[1], p.Inserted[0], p.Inserted[1])
	}
	fmt.Fprintf(&b, "\n  first differ %s, %s, agreement %.1f%%", first, p.other(), 100*p.Agreement)
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
