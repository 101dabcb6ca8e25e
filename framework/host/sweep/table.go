package sweep

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// resamples is how often rows are drawn anew for an interval.
const resamples = 2000

// Line is a point in numbers: means over its rows with their standard errors, of a metric over the rows that have it.
type Line struct {
	*Measured
	File    string // of its rows, below the directory of the sweep
	NFE     evaluate.Measure
	Steps   float64
	Revised float64 // positions a row
	Metrics map[string]evaluate.Measure
	// Diff are the differences of the metrics' means to those of the first point on the same rows, with paired bootstrap
	// intervals of 95 %; nil at the first point. "unique", which is no mean over independent rows, has none.
	Diff map[string]Difference
}

// Difference is a mean difference with its interval.
type Difference struct {
	Mean float64
	evaluate.Interval
}

// newLine puts a point into numbers; first is the point that it is compared with, nil for that point itself.
func newLine(m, first *Measured, file string) Line {
	column := func(rows []Row, of func(Row) float64) []float64 {
		out := make([]float64, len(rows))
		for i, r := range rows {
			out[i] = of(r)
		}
		return out
	}
	l := Line{Measured: m, File: file, NFE: evaluate.Mean(column(m.Rows, func(r Row) float64 { return float64(r.NFE) })),
		Steps:   evaluate.Mean(column(m.Rows, func(r Row) float64 { return float64(r.Steps) })).Value,
		Revised: evaluate.Mean(column(m.Rows, func(r Row) float64 { return float64(r.Revised) })).Value,
		Metrics: map[string]evaluate.Measure{}}
	if first != nil {
		l.Diff = map[string]Difference{}
	}
	for _, name := range names(m) {
		var values, diffs []float64
		for i, r := range m.Rows {
			v, has := r.Metrics[name]
			if !has {
				continue
			}
			values = append(values, v)
			if first != nil && len(first.Rows) == len(m.Rows) {
				if other, has := first.Rows[i].Metrics[name]; has {
					diffs = append(diffs, v-other)
				}
			}
		}
		l.Metrics[name] = evaluate.Mean(values)
		if name != "unique" && len(diffs) > 0 {
			l.Diff[name] = Difference{evaluate.Mean(diffs).Value, evaluate.Bootstrap(diffs, resamples, m.Seed)}
		}
	}
	return l
}

// metricOrder is that of tables; others follow by name.
var metricOrder = []string{"exact", "tokens", "valid", "unique", "entropy"}

// names lists the metrics that rows of a point have.
func names(m *Measured) []string {
	seen := map[string]bool{}
	for _, r := range m.Rows {
		for name := range r.Metrics {
			seen[name] = true
		}
	}
	all := slices.Collect(maps.Keys(seen))
	place := func(name string) int {
		if i := slices.Index(metricOrder, name); i >= 0 {
			return i
		}
		return len(metricOrder)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return all
}

// Metrics lists what the lines measured, in the order of tables.
func Metrics(lines []Line) (out []string) {
	for _, l := range lines {
		for _, name := range names(l.Measured) {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// writeCSV writes a line for each point. Columns: what it is; nfe, forward passes of a row, with its standard error;
// passes, those of batches; then, for every metric, the mean, its standard error, the difference to the first point and
// the ends of its interval.
func writeCSV(path string, lines []Line) error {
	metrics := Metrics(lines)
	head := []string{"series", "point", "rows", "nfe", "nfe_se", "passes", "score_passes", "steps", "revised"}
	for _, m := range metrics {
		head = append(head, m, m+"_se", m+"_diff", m+"_diff_low", m+"_diff_high")
	}
	head = append(head, "tokens_per_second", "seconds", "open_seconds", "batch", "runtime", "model", "seed", "file", "model_digest", "planner_digest", "sampler_digest")
	table := [][]string{head}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 8, 64) }
	for _, l := range lines {
		row := []string{l.Series, l.Name, strconv.Itoa(len(l.Rows)), number(l.NFE.Value), number(l.NFE.Error), strconv.Itoa(l.Passes), strconv.Itoa(l.ScorePasses),
			number(l.Steps), number(l.Revised)}
		for _, name := range metrics {
			cells := make([]string, 5)
			if m, ok := l.Metrics[name]; ok {
				cells[0], cells[1] = number(m.Value), number(m.Error)
			}
			if d, ok := l.Diff[name]; ok {
				cells[2], cells[3], cells[4] = number(d.Mean), number(d.Low), number(d.High)
			}
			row = append(row, cells...)
		}
		table = append(table, append(row, number(l.speed()), number(l.Seconds), number(l.OpenSeconds), strconv.Itoa(l.Batch), l.Runtime, l.Model,
			strconv.FormatUint(l.Seed, 10), filepath.ToSlash(l.File), l.Digests["model"], l.Digests["planner"], l.Digests["sampler"]))
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.WriteAll(table); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := wholefile.ReplaceBytes(path, b.Bytes()); err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	return nil
}

// speed is in tokens per second.
func (l Line) speed() float64 { return float64(l.Tokens) / max(l.Seconds, 1e-9) }

// Table is what people read: metrics with standard errors, NFE, and how the metric differs from the first point.
func Table(lines []Line, metric string) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	metrics := Metrics(lines)
	fmt.Fprint(w, "point\tNFE\t")
	for _, m := range metrics {
		fmt.Fprintf(w, "%s\t", m)
	}
	fmt.Fprintf(w, "%s - first [95 %%]\trevised\ttokens/s\n", metric)
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%.2f\t", l.Name, l.NFE.Value)
		for _, m := range metrics {
			fmt.Fprintf(w, "%s\t", l.Metrics[m])
		}
		if d, ok := l.Diff[metric]; ok {
			fmt.Fprintf(w, "%+.4f [%+.4f, %+.4f]", d.Mean, d.Low, d.High)
		}
		fmt.Fprintf(w, "\t%.2f\t%.0f\n", l.Revised, l.speed())
	}
	_ = w.Flush() // into memory
	return b.String()
}
