package plugintest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func samplerChecks() []check {
	one := func(id, text, why string, run func(*session), after ...string) check {
		return check{Rule: Rule{id, "sampler", text, why, samplers}, after: append([]string{"start"}, after...), run: run}
	}
	return []check{
		one("session", "A run of several rows ends, with every request to the session one that the contract allows.", "Nothing else can be judged without.", (*session).drives),
		one("emits", "Every row is emitted exactly once, and none is left when Sample returns.", "Rows would be lost.", launched, "session"),
		one("steps", "Rows take at most the steps that they have.", "Users pay for forward passes.", launched, "session"),
		one("sampler-determinism", "The same seed gives the same rows by the same requests (times, decisions), in a fresh process and in a second run.", "A seed would not bring a sample back.", (*session).samplesTheSame, "session", "emits"),
		one("sampler-rows", "A row comes out the same, at the same times, alone and among others.", "Samples would depend on the size of the batch.", (*session).samplesAlone, "session", "sampler-determinism"),
		one("sampler-sizes", "No row, 1 row and 64 rows are sampled.", "Users choose.", (*session).sampleSizes, "session"),
		one("sampler-cancellation", "A run that is cancelled ends at once, and the next one works.", "Ctrl-C would hang.", (*session).samplerCancelled, "session"),
		one("session-errors", "An error of the session ends Sample with that error.", "A run would go on without its model.", (*session).sessionErrors, "session"),
	}
}

// sampled is what a sampler made of rows.
type sampled struct {
	results map[int64]sampling.Result
	emitted map[int64]int
	asked   map[int64][]request
	calls   int
	left    error // what Done says
}

// drivenBy runs the sampler over rows. The error is that of Sample.
func (s *session) drivenBy(ctx context.Context, rows []sampling.Request, batch int, c counted) (*sampled, error) {
	l, err := s.shared()
	if err != nil {
		return nil, err
	}
	out := &sampled{results: map[int64]sampling.Result{}, emitted: map[int64]int{}}
	loop, err := s.loop(rows, batch, s.planner(), func(r sampling.Result) error {
		out.results[r.Index] = r
		out.emitted[r.Index]++
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = bounded(s.o.Call, func() error { _, err := l.sampler.Start(s.ctx, s.run); return err })
	if err != nil {
		return nil, err
	}
	if c.Session = loop; c.most == 0 {
		c.most = 200
		for _, r := range rows {
			c.most += 40 * len(r.Tokens)
		}
	}
	err = bounded(6*s.o.Call, func() error { return l.sampler.Sample(ctx, &c) })
	out.calls, out.asked = c.calls, c.asked.byRow
	if troubleOf(err) == refused {
		out.left = loop.Done()
		if ended := l.sampler.End(s.ctx); ended != nil && err == nil {
			err = ended
		}
	}
	return out, err
}

// planner is the one that samplers ask; those that insert decide by themselves.
func (s *session) planner() sampling.Planner {
	if s.about.CanInsert {
		return nil
	}
	return steady{}
}

func (s *session) drives() {
	rows := s.rows(s.several())
	full := blank(1, 4) // nothing to do: a row that is done when it is admitted
	for i := range full.Tokens {
		full.Tokens[i] = (maskID + 1) % vocabulary
	}
	for _, steps := range []int{0, 4} {
		for i := range rows {
			rows[i].Steps = steps
		}
		out, err := s.drivenBy(s.ctx, append(rows[:len(rows):len(rows)], full), 3, counted{})
		switch {
		case errors.Is(err, errEndless):
			s.find(Error, "session", "end when Admit returns no rows and no slot is in use, and emit rows that are done", "%d rows were not sampled after %d requests to the session %s", len(rows)+1, out.calls, s.seeded())
			s.drop()
			return
		case err != nil:
			s.blame("session", fmt.Sprintf("a run of %d rows", len(rows)+1), err)
			return
		}
		s.complete(out, append(rows[:len(rows):len(rows)], full))
	}
}

// complete looks at what came out.
func (s *session) complete(out *sampled, rows []sampling.Request) {
	if out.left != nil {
		s.find(Error, "emits", "drive the session until Admit returns no row and every row is emitted", "Sample returned without an error: %s %s", said(out.left), s.seeded())
	}
	for _, r := range rows {
		got, n := out.results[r.Index], out.emitted[r.Index]
		switch {
		case n != 1 && out.left == nil:
			s.find(Error, "emits", "emit each row once, when it is done", "row %d was emitted %d times %s", r.Index, n, s.seeded())
		case n == 1 && (got.Finish == sampling.FinishError || got.Finish == sampling.FinishStop):
			s.find(Error, "emits", "emit rows that are done", "row %d ended as %s with masks left: %v %s", r.Index, got.Finish, got.Err, s.seeded())
		case n == 1 && r.Steps > 0 && got.Steps > r.Steps:
			s.find(Error, "steps", "look at the row's steps", "row %d took %d steps, expected at most %d %s", r.Index, got.Steps, r.Steps, s.seeded())
		}
	}
}

// sameSample records the first row that was asked for, or came out, otherwise. alone: in batches of other sizes.
func (s *session) sameSample(check, fix, how string, a, b *sampled, rows []sampling.Request, alone bool) bool {
	for _, r := range rows {
		x, y := a.asked[r.Index], b.asked[r.Index]
		if alone {
			x, y = ofRowAlone(x), ofRowAlone(y)
		}
		if d := asksOtherwise(x, y); d != "" {
			s.find(Error, check, fix, "row %d, %s, %s %s", r.Index, d, how, s.seeded())
			return false
		}
		if x, y := a.results[r.Index], b.results[r.Index]; !slices.Equal(x.Tokens, y.Tokens) {
			s.find(Error, check, fix, "row %d: %v; then %v, %s %s", r.Index, x.Tokens, y.Tokens, how, s.seeded())
			return false
		}
	}
	return true
}

func (s *session) samplesTheSame() {
	const check = "sampler-determinism"
	rows := s.rows(s.several())
	s.drop()
	first, err := s.drivenBy(s.ctx, rows, 3, counted{})
	for _, how := range []string{"in a second run of the same process", "in a fresh process"} {
		var again *sampled
		if err == nil {
			again, err = s.drivenBy(s.ctx, rows, 3, counted{})
		}
		if err != nil {
			s.blame(check, "a run again", err)
			return
		}
		if !s.sameSample(check, ownRandomness, how, first, again, rows, false) {
			return
		}
		s.drop()
	}
}

func (s *session) samplesAlone() {
	rows := s.rows(s.several())
	together, err := s.drivenBy(s.ctx, rows, len(rows), counted{})
	for i := range rows {
		var alone *sampled
		if err == nil {
			alone, err = s.drivenBy(s.ctx, rows[i:i+1], 1, counted{})
		}
		if err != nil {
			s.blame("sampler-rows", "a row alone", err)
			return
		}
		if !s.sameSample("sampler-rows", byRow, "sampled alone", together, alone, rows[i:i+1], true) {
			return
		}
	}
}

func (s *session) sampleSizes() {
	for _, n := range []int{0, 1, 64} {
		rows := s.rows(n)
		out, err := s.drivenBy(s.ctx, rows, 64, counted{})
		if err != nil {
			s.blame("sampler-sizes", fmt.Sprintf("a run of %d rows", n), err)
			return
		}
		s.complete(out, rows)
	}
}

func (s *session) samplerCancelled() {
	const check = "sampler-cancellation"
	rows := s.rows(s.several())
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	_, err := s.drivenBy(ctx, rows, 3, counted{at: 4, then: cancel})
	switch {
	case err == nil:
		s.find(Error, check, "return the error of the context, or of the session's call that it ended", "the run was cancelled at the session's fourth request: expected an error, found none %s", s.seeded())
	case troubleOf(err) != refused:
		s.blame(check, "a run that is cancelled", err)
	}
	if _, err := s.drivenBy(s.ctx, rows, 3, counted{}); err != nil {
		s.blame(check, "a run after one that was cancelled", err)
	}
}

// errPlanned is what the session says when it is told to fail.
var errPlanned = &sampling.Error{Code: sampling.Internal, Object: "session", Problem: "the model is gone"}

func (s *session) sessionErrors() {
	const check = "session-errors"
	rows := s.rows(s.several())
	for _, at := range []int{1, 2, 3} {
		out, err := s.drivenBy(s.ctx, rows, 3, counted{at: at, fail: errPlanned, most: 50})
		switch {
		case err == nil:
			s.find(Error, check, "return the errors of the session", "request %d to the session failed: expected its error, found none %s", at, s.seeded())
		case troubleOf(err) != refused:
			s.blame(check, fmt.Sprintf("a session whose request %d fails", at), err)
		case errors.Is(err, errEndless) || out.calls > at+3:
			s.find(Error, check, "return the errors of the session at once", "request %d to the session failed: expected the end of Sample, found %d more requests %s", at, out.calls-at, s.seeded())
		}
	}
}
