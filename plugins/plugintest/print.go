package plugintest

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Print writes the report as a person reads it: the verdict, the findings by severity, what passed, and the latencies.
func (r *Report) Print(w io.Writer) error {
	p := &printer{w: w}
	name := strings.TrimSpace(string(r.Kind) + " " + supervise.Printable(r.Name) + " " + supervise.Printable(r.Version))
	if r.Name == "" { // it never said what it is
		name = "plugin " + supervise.Printable(r.Plugin)
	}
	errors, others := r.count(Error), number(r.count(Warning), "warning")+", "+number(r.count(Note), "note")
	switch {
	case errors > 0:
		p.line("%s does not conform: %s, %s.", name, number(errors, "error"), others)
	case len(r.Findings) > 0:
		p.line("%s conforms: %s.", name, others)
	default:
		p.line("%s conforms.", name)
	}
	count := map[string]int{}
	for _, c := range r.Checks {
		count[c.Outcome]++
	}
	p.line("Of %d rules %d hold, %d do not, %d could not be judged. Plugin %s, seed %d, %.1f s.", len(r.Checks), count[Passed], count[Failed], count[Skipped], supervise.Printable(r.Plugin), r.Seed, r.Took.Seconds())
	for _, group := range []struct {
		severity Severity
		title    string
	}{{Error, "Errors: the contract is broken"}, {Warning, "Warnings: users will be surprised"}, {Note, "Notes"}} {
		r.printFindings(p, group.severity, group.title)
	}
	r.printChecks(p)
	if r.Kind == sampling.KindTrainer && r.Name != "" {
		p.line("\n%s", valuesUnseen)
	}
	r.printLatency(p)
	return p.err
}

// valuesUnseen is what a report on a trainer does not say.
const valuesUnseen = "No graph is run: the values of the loss, of metrics and of what networks are shown are not judged. Look at them in a short run beside\n" +
	"one of md4: mdmhost train --run runs/try --trainer PLUGIN --train FILE --steps 200"

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (r *Report) printFindings(p *printer, severity Severity, title string) {
	if r.count(severity) == 0 {
		return
	}
	p.line("\n%s\n", title)
	for _, check := range groups(r.Findings, func(f *Finding) string { return f.Check }) {
		check = slices.DeleteFunc(check, func(f Finding) bool { return f.Severity != severity })
		if len(check) == 0 {
			continue
		}
		p.line("  %s: %s", check[0].Check, r.rule(check[0].Check))
		for _, mended := range groups(check, func(f *Finding) string { return f.Fix }) { // by one fix
			again := 0
			for _, f := range mended {
				p.line("      %s", supervise.Printable(f.Problem))
				again += f.Again
			}
			if again > 0 {
				p.line("      and %s more", number(again, "place"))
			}
			p.line("      -> %s", supervise.Printable(mended[0].Fix))
		}
	}
}

// groups are the findings with the same key, in the order of the first of each.
func groups(all []Finding, key func(*Finding) string) (out [][]Finding) {
	at := map[string]int{}
	for i := range all {
		k := key(&all[i])
		if _, ok := at[k]; !ok {
			at[k] = len(out)
			out = append(out, nil)
		}
		out[at[k]] = append(out[at[k]], all[i])
	}
	return out
}

// rule is the text of a rule.
func (r *Report) rule(id string) string {
	i := slices.IndexFunc(r.Checks, func(c Outcome) bool { return c.Check == id })
	if i < 0 {
		return ""
	}
	return r.Checks[i].Rule
}

func (r *Report) printChecks(p *printer) {
	for _, group := range []struct{ outcome, title string }{{Passed, "Checked, and in order"}, {Skipped, "Not judged"}} {
		first := true
		for _, c := range r.Checks {
			if c.Outcome != group.outcome {
				continue
			}
			if first {
				p.line("\n%s\n", group.title)
				first = false
			}
			if c.Reason != "" {
				p.line("  %-20s  %s", c.Check, supervise.Printable(c.Reason))
			} else {
				p.line("  %-20s  %s", c.Check, c.Rule)
			}
		}
	}
}

func (r *Report) printLatency(p *printer) {
	if len(r.Latency) == 0 || p.err != nil {
		return
	}
	p.line("\nLatency of a step, transport included\n")
	t := tabwriter.NewWriter(p.w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rows\tpositions\tcalls\tmedian ms\tp99 ms\t")
	for _, l := range r.Latency {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t\n", l.Rows, l.Length, l.Calls, ms(l.Median), ms(l.P99))
	}
	p.err = t.Flush()
	if r.Starting > 0 {
		p.line("The process starts in %s ms.", ms(r.Starting))
	}
}

func ms(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1e3, 'f', 2, 64) }

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
