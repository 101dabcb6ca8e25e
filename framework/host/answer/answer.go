// Package answer runs a sampling job from its rows to its summary: answers to a stream or a file that can be resumed,
// what the user watches meanwhile, and the account of the run at the end.
package answer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/host/shard"
	"github.com/mdmhost/mdmhost/framework/host/view"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Streams are where answers (where no file is named) and everything else go.
type Streams struct{ Out, Err *os.File }

// job is one run of sample, from its rows to its summary.
type job struct {
	host     *host.Host
	cfg      *config.Config
	rows     []sampling.Request // of the shard
	all      int                // rows of the run
	shard    shard.Shard
	input    string   // tells the rows of the run apart from others
	notes    []string // for the summary
	digests  map[string]string
	writer   *results.Writer
	finishes map[sampling.Finish]int
	lost     map[sampling.Finish][]string // rows without an answer
	failed   error                        // of the first row that failed
	sunk     error                        // of the first answer that could not be written
	lengths  *view.Lengths                // of rows that grow
}

// Run samples the rows, or the configuration's shard of them, and writes answers and summary. Notes are added to the summary's. When ctx ends, finished and
// cancelled rows are written all the same and the error is ctx's; rows that failed make an error after all others are
// written.
func Run(ctx context.Context, h *host.Host, rows []sampling.Request, notes []string, s Streams) (err error) {
	j := &job{host: h, cfg: h.Config(), rows: rows, all: len(rows), notes: notes, finishes: map[sampling.Finish]int{}, lost: map[sampling.Finish][]string{}}
	if err := h.Fits(rows); err != nil {
		return err
	}
	if err := j.part(); err != nil {
		return err
	}
	if err := j.identify(); err != nil {
		return err
	}
	live := j.cfg.Watch && redrawable(s.Err)
	held := &bytes.Buffer{} // answers that would tear the live canvas of the same terminal
	out := io.Writer(s.Out)
	if live && onTerminal(s.Out) {
		out = held
	}
	if j.writer, err = j.openWriter(out); err != nil {
		return err
	}
	trace, err := j.openTrace()
	if err != nil {
		return errors.Join(err, j.writer.Close())
	}
	screen := j.screen(s)
	stopping := context.AfterFunc(ctx, func() { screen.Say("mdmhost: stopping; finished rows are kept. Again to stop at once.") })
	accounts, err := h.Sample(ctx, len(j.rows), j.waiting(), j.sink, append(trace.observers(), screen)...)
	stopping()
	if j.sunk != nil {
		err = j.sunk // its own words, instead of what the sampler made of it
	}
	err = errors.Join(err, screen.Close(), trace.Close())
	if note := trace.note(); note != "" {
		j.notes = append(j.notes, note)
	}
	if closing := j.writer.Close(); j.sunk == nil {
		err = errors.Join(err, closing)
	}
	if held.Len() > 0 {
		_, flushing := s.Out.Write(held.Bytes())
		err = errors.Join(err, flushing)
	}
	err = errors.Join(err, j.summary(accounts).Write(s.Err))
	if err == nil && j.failed != nil {
		err = fmt.Errorf("%d of %d rows failed, the first with: %w", j.finishes[sampling.FinishError], len(j.rows), j.failed)
	}
	return err
}

func onTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// redrawable terminals can move the cursor.
func redrawable(f *os.File) bool { return onTerminal(f) && os.Getenv("TERM") != "dumb" }

// openWriter opens --out, or writes to out.
func (j *job) openWriter(out io.Writer) (*results.Writer, error) {
	format, rows := results.Format(j.cfg.Format), int64(j.all)
	if j.cfg.Out == "" {
		return results.NewWriter(out, "standard output", format, rows, j.shard), nil
	}
	settings := j.cfg.Settings()
	delete(settings, "prompts") // what it holds counts, not its name
	settings["input"] = j.input
	for name, digest := range j.digests {
		settings["digest of the "+name] = digest
	}
	return results.Create(j.cfg.Out, results.Options{
		Format: format, Rows: rows, Shard: j.shard, Seed: j.host.Seed(), Settings: settings, Overwrite: j.cfg.Overwrite,
	})
}

// screen is what the user watches; other lines go through it, so as not to tear it.
type screen interface {
	sampling.Observer
	Say(line string)
	Close() error
}

func (j *job) screen(s Streams) screen {
	if j.cfg.Watch {
		return view.NewWatch(s.Err, redrawable(s.Err), view.PieceOf(j.host.Model().Tokenizer))
	}
	rows, blanks := 0, 0
	for _, r := range j.rows {
		if !j.writer.Kept(r.Index) {
			rows, blanks = rows+1, blanks+model.Row{Fixed: r.Fixed}.Blanks()
		}
	}
	// A bar would tear answers that stream to the same terminal; they are progress enough.
	bar := redrawable(s.Err) && (j.cfg.Out != "" || !onTerminal(s.Out))
	progress := view.NewProgress(s.Err, bar, rows, blanks)
	if j.host.Model().Insertion() {
		progress.Growing()
	}
	return progress
}

// waiting yields the rows that have no answer yet.
func (j *job) waiting() func() (sampling.Request, bool) {
	next := 0
	return func() (sampling.Request, bool) {
		for next < len(j.rows) {
			r := j.rows[next]
			next++
			if !j.writer.Kept(r.Index) {
				return r, true
			}
		}
		return sampling.Request{}, false
	}
}

// sink writes one answer.
func (j *job) sink(r sampling.Result) error {
	j.finishes[r.Finish]++
	if j.host.Model().Insertion() && r.Finish != sampling.FinishCancelled && r.Finish != sampling.FinishError {
		if j.lengths == nil {
			j.lengths = &view.Lengths{}
		}
		j.lengths.Add(r)
	}
	if r.Err != nil && j.failed == nil {
		j.failed = r.Err
	}
	if r.Finish == sampling.FinishCancelled || r.Finish == sampling.FinishError {
		j.lost[r.Finish] = append(j.lost[r.Finish], fmt.Sprint(r.Index))
	}
	row := results.NewRow(r, j.host.Seed(), strings.TrimSuffix(j.host.Model().Tokenizer.Decode(r.Tokens, true), r.Beyond))
	if j.cfg.Sampling.CompletesStopped() {
		row.NFEUntil = &r.Until
	}
	if j.cfg.Details {
		row = row.WithDetails(r, j.digests)
	}
	if err := j.writer.Put(row); err != nil && j.sunk == nil {
		j.sunk = err
		return err
	}
	return nil
}

func (j *job) summary(a sampling.Accounts) view.Summary {
	notes := slices.Concat(j.host.Notes(), j.notes)
	for _, finish := range slices.Sorted(maps.Keys(j.lost)) {
		notes = append(notes, j.without(finish))
	}
	if !j.shard.Whole() {
		notes = append(notes, fmt.Sprintf("shard %s has %d of the run's %d rows; mdmhost merge puts the files of all shards together", j.shard, len(j.rows), j.all))
	}
	for _, e := range j.cfg.Left() {
		notes = append(notes, fmt.Sprintf("%s = %v (%s) is left out: it %s", e.Key, e.Value, e.Origin, e.Note))
	}
	planner := DescribedPlanner(j.cfg.Planner)
	if a.Passes > 0 && a.PlanCalls == 0 {
		if named := j.cfg.Origin("planner.name").Layer; named == config.LayerFlag || named == config.LayerEnv { // a preset names both
			notes = append(notes, fmt.Sprintf("planner %s was not asked: sampler %s decides by itself", planner, j.cfg.Sampler.Name))
		}
		if j.cfg.Record {
			notes = append(notes, fmt.Sprintf("nothing is recorded: sampler %s decides by itself", j.cfg.Sampler.Name))
		}
		planner = "not asked"
	}
	return view.Summary{
		Accounts: a, Finishes: j.finishes, Resumed: j.writer.Resumed(), Until: j.cfg.Sampling.CompletesStopped(), Model: j.host.Model().Name,
		Planner: planner, Sampler: Described(j.cfg.Sampler), Provider: j.host.Provider(), Notes: notes, Seed: j.host.Seed(), Lengths: j.lengths,
	}
}

// without says which rows ended without an answer, the first twenty of many.
func (j *job) without(finish sampling.Finish) string {
	rows := j.lost[finish]
	shown := rows[:min(len(rows), 20)]
	how := map[sampling.Finish]string{sampling.FinishCancelled: "cancelled", sampling.FinishError: "failed"}[finish]
	text := fmt.Sprintf("rows %s without an answer: %s", how, strings.Join(shown, ", "))
	if more := len(rows) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if j.cfg.Format == string(results.Text) {
		text += "; text answers have no lines for them"
	}
	return text
}

// DescribedPlanner is [Described] with the planner's own network, where it has one.
func DescribedPlanner(p config.Planner) string {
	if p.Network == "" {
		return Described(p.Part)
	}
	return Described(p.Part) + " network=" + p.Network
}

// Described names a plugin with its options, such as "eb gamma=0.1".
func Described(p config.Part) string {
	var b strings.Builder
	b.WriteString(p.Name)
	for _, name := range slices.Sorted(maps.Keys(p.Options)) {
		fmt.Fprintf(&b, " %s=%v", name, p.Options[name])
	}
	return b.String()
}
