package parity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Report is what a comparison found. Times are medians over the rounds.
type Report struct {
	Model       string    `json:"model"`
	Planner     string    `json:"planner"`
	Sampler     string    `json:"sampler"`
	Seed        uint64    `json:"seed"`
	CPU         string    `json:"cpu"`
	Rows        int       `json:"rows"`
	Batch       int       `json:"batch"`
	Rounds      int       `json:"rounds"`
	Contestants []Result  `json:"contestants"` // the first is what the others are compared with
	LeftOut     []LeftOut `json:"left_out,omitempty"`
}

// Result is one contestant. Ms are milliseconds.
type Result struct {
	Name         string    `json:"name"`
	Provider     string    `json:"provider"` // what really ran
	Notes        []string  `json:"notes,omitempty"`
	Passes       int       `json:"passes"`             // forward passes of a round
	DenoiseMS    float64   `json:"denoise_ms_per_nfe"` // in the runtime, a forward pass
	MS           float64   `json:"ms_per_nfe"`         // in all
	OverheadMS   float64   `json:"overhead_ms"`        // in the runtime, a forward pass, above the first contestant's
	BytesPerStep float64   `json:"bytes_per_step"`     // to servers and back, a forward pass; 0 in this process
	Tokens       int       `json:"tokens"`             // written, of all rows
	Equal        int       `json:"equal"`              // of them, as in the first contestant's rows
	EqualRows    int       `json:"equal_rows"`         // rows of which every step was the same
	Margin       float64   `json:"margin"`             // below which choices are near-ties
	NearTies     []Parting `json:"near_ties,omitempty"`
	Differences  []Parting `json:"differences,omitempty"` // partings that are no near-ties
	Changed      []int64   `json:"changed,omitempty"`     // rows that came out otherwise in a later round of the same contestant
}

// Differ counts the rows that differ by more than a near-tie, those of every contestant anew.
func (r *Report) Differ() (n int) {
	for i := range r.Contestants {
		n += r.Contestants[i].differ()
	}
	return n
}

// differ counts the contestant's rows, each once however it differed.
func (c *Result) differ() int {
	rows := slices.Clone(c.Changed)
	for _, p := range c.Differences {
		rows = append(rows, p.Row)
	}
	slices.Sort(rows)
	return len(slices.Compact(rows))
}

// add takes in a contestant.
func (r *Report) add(of, first *runner, partings []*Parting, margin float64) {
	perPass := func(d func(sampling.Accounts) float64) float64 {
		var all []float64
		for _, a := range of.times {
			all = append(all, 1e3*d(a)/float64(max(a.Passes, 1)))
		}
		return median(all)
	}
	c := Result{Name: of.Name, Provider: of.host.Provider(), Notes: of.host.Notes(), Margin: margin,
		DenoiseMS: perPass(func(a sampling.Accounts) float64 { return a.Denoise.Seconds() }),
		MS:        perPass(func(a sampling.Accounts) float64 { return a.Wall.Seconds() })}
	if margin == 0 {
		c.Margin = MarginCPU
		if of.onGPU() || first.onGPU() {
			c.Margin = MarginGPU
		}
	}
	passes := 0
	for _, a := range of.times {
		passes += a.Passes
	}
	c.Passes, c.BytesPerStep = passes/max(len(of.times), 1), float64(of.moved)/float64(max(passes, 1))
	if len(r.Contestants) > 0 {
		c.OverheadMS = c.DenoiseMS - r.Contestants[0].DenoiseMS
	}
	for index, row := range of.trail.rows {
		tokens, before := row.End.Tokens, first.trail.rows[index].End.Tokens
		c.Tokens += max(len(tokens), len(before))
		c.Equal += max(len(tokens), len(before)) - differences(tokens, before)
	}
	c.EqualRows = len(of.trail.rows) - len(partings)
	for _, p := range partings {
		if p.near = p.Margin != nil && *p.Margin < c.Margin; p.near {
			c.NearTies = append(c.NearTies, *p)
		} else {
			c.Differences = append(c.Differences, *p)
		}
	}
	for index := range of.changed {
		c.Changed = append(c.Changed, index)
	}
	slices.Sort(c.Changed)
	r.Contestants = append(r.Contestants, c)
}

// onGPU tells whether the runtime's own word for its provider is that of a GPU.
func (r *runner) onGPU() bool {
	provider := strings.ToLower(r.witness.Capabilities().Provider)
	return slices.ContainsFunc([]string{"cuda", "tensorrt", "gpu", "rocm", "migraphx"}, func(word string) bool { return strings.Contains(provider, word) })
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// shown bounds how many partings of a contestant are listed in words.
const shown = 20

// String is a table, with every parting below it.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model     %s, planner %s, sampler %s, seed %d\n", r.Model, r.Planner, r.Sampler, r.Seed)
	fmt.Fprintf(&b, "rows      %d, batch %d, rounds %d; %s\n\n", r.Rows, r.Batch, r.Rounds, r.CPU)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "runtime\tran on\tms per NFE\tdenoiser\tabove the first\tbytes per step\trows equal\ttokens equal\tnear-ties\tdifferences\n") //nolint:errcheck // a buffer takes everything
	for i, c := range r.Contestants {
		above, moved := "", "0"
		if i > 0 {
			above = fmt.Sprintf("%+.3f", c.OverheadMS)
		}
		if c.BytesPerStep > 0 {
			moved = fmt.Sprintf("%.0f", c.BytesPerStep)
		}
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%.3f\t%s\t%s\t%d of %d\t%d of %d\t%d\t%d\n", //nolint:errcheck // likewise
			c.Name, c.Provider, c.MS, c.DenoiseMS, above, moved, c.EqualRows, r.Rows, c.Equal, c.Tokens, len(c.NearTies), c.differ())
	}
	_ = w.Flush()
	b.WriteByte('\n')
	for _, c := range r.Contestants {
		for i, p := range c.NearTies {
			p.write(&b, "near-tie ", c.Name, i, len(c.NearTies))
		}
		for i, p := range c.Differences {
			p.write(&b, "different", c.Name, i, len(c.Differences))
		}
		for _, row := range c.Changed {
			fmt.Fprintf(&b, "different %s: row %d came out otherwise when it was sampled again\n", c.Name, row)
		}
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "note      %s: %s\n", c.Name, note)
		}
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(&b, "left out  %s: %s\n", l.Name, l.Why)
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}

// write puts the i-th of n partings in words; steps count from 1 there.
func (p *Parting) write(b *strings.Builder, kind, name string, i, n int) {
	if i == shown {
		fmt.Fprintf(b, "%s %s: %d more\n", kind, name, n-shown)
	}
	if i >= shown {
		return
	}
	fmt.Fprintf(b, "%s %s: row %d, step %d", kind, name, p.Row, p.Step+1)
	if p.Position >= 0 {
		fmt.Fprintf(b, ", position %d: %q against %q", p.Position, p.Texts[1], p.Texts[0])
	} else {
		fmt.Fprintf(b, ": %s", p.What)
	}
	if p.Margin != nil {
		fmt.Fprintf(b, ", margin %.1e", *p.Margin)
	}
	if p.Why != "" {
		fmt.Fprintf(b, ", %s", p.Why)
	}
	fmt.Fprintf(b, "; %d tokens of the row differ in the end\n", p.Follows)
}
