package plugintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// asked is one row of one step, with what was decided.
type asked struct {
	row      sampling.Row
	decision sampling.Decision // what the host would take of it
	whole    sampling.Decision // as it came, without metrics
}

// watched asks a plugin, judges what it says and keeps it.
type watched struct {
	sampling.Planner
	s       *session
	reverse bool                  // the rows of a step come last first
	slot    func(slot int) int    // where the plugin is told that rows live; nil: where they do
	rows    map[int64][]asked     // by row, in order
	steps   []*sampling.Step      // as the plugin was asked
	answers [][]sampling.Decision // to each of them
}

func (w *watched) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	sent := cloneStep(step)
	if w.reverse {
		slices.Reverse(sent.Rows)
	}
	for i := range sent.Rows {
		if w.slot != nil {
			sent.Rows[i].Slot = w.slot(sent.Rows[i].Slot)
		}
	}
	answer, err := w.s.ask(ctx, w.Planner, sent)
	if err != nil {
		return err
	}
	w.steps, w.answers = append(w.steps, sent), append(w.answers, answer)
	for i := range step.Rows {
		at := i
		if w.reverse {
			at = len(sent.Rows) - 1 - i
		}
		row := &sent.Rows[at]
		one := asked{row: *row, whole: canonical(&answer[at])}
		w.s.judge(row, &answer[at])
		one.decision = answer[at]
		w.rows[row.Index] = append(w.rows[row.Index], one)
		out[i] = answer[at]
	}
	return nil
}

// ask asks a planner and reads its answer as the host reads it off the wire.
func (s *session) ask(ctx context.Context, p sampling.Planner, step *sampling.Step) ([]sampling.Decision, error) {
	out := make([]sampling.Decision, len(step.Rows))
	if s.target.launch != nil {
		err := p.Plan(ctx, step, out)
		s.planned = s.planned || err == nil
		return out, err
	}
	given := cloneStep(step)
	if err := p.Plan(ctx, given, out); err != nil {
		return nil, err
	}
	s.planned = true
	for i := range step.Rows {
		if !sameRow(&step.Rows[i], &given.Rows[i]) {
			s.find(Error, "step-unchanged", "copy what is to be changed: the host reuses the slices of a step", "row %d, step %d: the planner changed the row that it was given %s",
				step.Rows[i].Index, step.Rows[i].Step, s.seeded())
		}
	}
	// Through bytes, so that what is not a message is found out, too.
	reply := &pb.PlanReply{Decisions: wire.DecisionsToProto(out)}
	raw, err := proto.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be encoded: %w", err)
	}
	var again pb.PlanReply
	if err := proto.Unmarshal(raw, &again); err != nil {
		return nil, err
	}
	return out, wire.DecisionsFromProto(again.GetDecisions(), out)
}

// sameRow compares the slices of two rows, byte by byte.
func sameRow(a, b *sampling.Row) bool {
	same := slices.Equal(a.Token, b.Token) && slices.Equal(a.Flags, b.Flags) && slices.Equal(a.Proposal, b.Proposal) && slices.Equal(a.TopIDs, b.TopIDs) &&
		slices.Equal(a.Uniform, b.Uniform) && slices.Equal(a.Gumbel, b.Gumbel)
	x, y := floats(a), floats(b)
	for i := range x {
		same = same && bytes.Equal(sampling.Bytes(*x[i]), sampling.Bytes(*y[i]))
	}
	return same
}

// canonical is a decision whose lists are sorted and whose metrics are left out, for comparisons.
func canonical(d *sampling.Decision) sampling.Decision {
	c := *d
	c.Metrics = nil
	c.Open, c.Remask, c.Delete = slices.Clone(d.Open), slices.Clone(d.Remask), slices.Clone(d.Delete)
	c.Overwrite, c.Insert = slices.Clone(d.Overwrite), slices.Clone(d.Insert)
	slices.Sort(c.Open)
	slices.Sort(c.Remask)
	slices.Sort(c.Delete)
	slices.SortFunc(c.Overwrite, func(a, b sampling.Write) int { return int(a.Position - b.Position) })
	slices.SortFunc(c.Insert, func(a, b sampling.Insertion) int { return int(a.Gap - b.Gap) })
	return c
}

// trial is one run of a planner over rows.
type trial struct {
	rows    []sampling.Request
	batch   int // 0: all rows together
	reverse bool
	slot    func(int) int
}

// outcome is what became of a trial.
type outcome struct {
	*watched
	results map[int64]sampling.Result
}

// sample runs the planner over the rows of a trial, from Start to End. An error is the planner's; the shared life is given up where it
// cannot go on.
func (s *session) sample(t trial) (*outcome, error) {
	l, err := s.shared()
	if err != nil {
		return nil, err
	}
	if _, err := l.Start(s.ctx, s.run); err != nil {
		return nil, err
	}
	w := &watched{Planner: l.Planner, s: s, reverse: t.reverse, slot: t.slot, rows: map[int64][]asked{}}
	o := &outcome{watched: w, results: map[int64]sampling.Result{}}
	batch := t.batch
	if batch == 0 {
		batch = len(t.rows)
	}
	loop, err := s.loop(t.rows, batch, w, func(r sampling.Result) error { o.results[r.Index] = r; return nil })
	if err != nil {
		return nil, err
	}
	err = drive(s.ctx, loop)
	if trouble := troubleOf(err); err == nil || trouble == refused {
		err = errors.Join(err, l.End(s.ctx))
	}
	return o, err
}

// differs returns where two trials decide otherwise about a row: the first step, and both decisions; "" where they agree.
func differs(a, b *outcome, index int64) string {
	one, other := a.rows[index], b.rows[index]
	for i := range min(len(one), len(other)) {
		if d := decidesOtherwise(&one[i].whole, &other[i].whole); d != "" {
			return fmt.Sprintf("row %d, step %d: %s", index, one[i].row.Step, d)
		}
	}
	if len(one) != len(other) {
		return fmt.Sprintf("row %d: %d steps and %d steps", index, len(one), len(other))
	}
	return ""
}

// decidesOtherwise says how two canonical decisions differ, or "".
func decidesOtherwise(a, b *sampling.Decision) string {
	same := slices.Equal(a.Open, b.Open) && slices.Equal(a.Overwrite, b.Overwrite) && slices.Equal(a.Remask, b.Remask) && slices.Equal(a.Delete, b.Delete) &&
		slices.Equal(a.Insert, b.Insert) && a.Fill == b.Fill && a.ActedAs == b.ActedAs && a.NextT == b.NextT && a.Done == b.Done && a.GoOn == b.GoOn
	if same {
		return ""
	}
	return fmt.Sprintf("%s; then %s", words(a), words(b))
}

// words says what a decision does.
func words(d *sampling.Decision) string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(len(d.Open) > 0, "opens %v", d.Open)
	add(len(d.Overwrite) > 0, "overwrites %v", d.Overwrite)
	add(len(d.Remask) > 0, "remasks %v", d.Remask)
	add(len(d.Delete) > 0, "deletes %v", d.Delete)
	add(len(d.Insert) > 0, "inserts %v", d.Insert)
	add(d.Fill != sampling.FillNone, "fills")
	add(d.ActedAs != 0, "acts as step %d", d.ActedAs)
	add(d.NextT != 0, "goes on at time %v", d.NextT)
	add(d.Done, "is done")
	add(d.GoOn, "goes on")
	if parts == nil {
		return "does nothing"
	}
	return list(parts)
}
