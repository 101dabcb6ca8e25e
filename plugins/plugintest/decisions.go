package plugintest

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func decisionChecks() []check {
	passing := func(id, text, why string) check {
		return check{Rule: Rule{id, "decisions", text, why, planners}, after: []string{"plan"}}
	}
	return []check{
		{Rule: Rule{"plan", "decisions", "An ordinary step is answered.", "Nothing else can be judged without.", planners}, after: []string{"start", "needs-stable"}, run: (*session).plan},
		passing("answers", "Every row of a step gets one decision, in order, whose lists belong together.", "Decisions of another length cannot be matched to rows."),
		passing("positions", "Positions are indices into the row's window.", "Anything else names another row's token, or none."),
		passing("fixed-positions", "Fixed positions (prompt, special tokens, padding) are never touched.", "The answer would change the question."),
		passing("eligible", "Only eligible positions are opened, and only written ones remasked.", "Blocks open one after the other, and written tokens stay."),
		passing("positions-once", "No position is named twice in a step.", "One of the two would be lost."),
		passing("token-range", "Overwritten tokens lie below v.", "The model has no embedding for others."),
		passing("mask-token", "The mask is never written as a token.", "The row would look finished and is not."),
		passing("remask-declared", "Only planners described with can_remask mask written positions again.", "Without it written positions have no statistics."),
		passing("insertion", "Planners insert and delete nothing.", "Rows of masked models keep their length."),
		passing("times", "next_t, acted_as, done and go_on are times and steps of the row.", "The sampler goes on from them."),
		passing("metrics", "Metrics are finite numbers, with names of letters, digits and ._:/-.", "Traces are JSON, which has no other numbers; tables and plots show the names."),
		{Rule: Rule{"step-unchanged", "decisions", "The step that is given is left as it is.", "In process, its slices are the host's own.", planners}, value: true, after: []string{"plan"}},
		{Rule: Rule{"determinism", "decisions", "The same steps in a fresh process give the same decisions.", "A seed would not bring a sample back.", planners}, after: []string{"plan"}, run: (*session).determinism},
		{Rule: Rule{"second-run", "decisions", "A second run in the same process decides as the first.", "What one run leaves behind would change the next.", planners}, after: []string{"plan", "determinism"}, run: (*session).secondRun},
		{Rule: Rule{"pure", "decisions", "A planner that says it is pure answers a step the same, whatever was asked before.", "After a crash the host asks a fresh process in the middle of a run.", planners}, after: []string{"plan", "determinism"}, run: (*session).purity},
		{Rule: Rule{"termination", "decisions", "Rows end within their steps: by schedule, or for adaptive planners by opening something.", "The host would open the rest at once, in the worst order.", planners}, after: []string{"plan"}, run: (*session).termination},
	}
}

// several is how many rows the comparisons take.
func (s *session) several() int {
	if s.o.Quick {
		return 5
	}
	return 8
}

// plan asks for whole runs, and so for the decisions that the other rules are about.
func (s *session) plan() {
	if o, err := s.sample(trial{rows: s.rows(s.several())}); err != nil {
		s.blame("plan", "an ordinary run of "+fmt.Sprint(s.several())+" rows", err)
	} else if len(o.steps) == 0 {
		s.find(Error, "plan", "report this", "no step was asked %s", s.seeded())
	}
}

// again runs a trial for a check and records an error under it.
func (s *session) again(check, while string, t trial) *outcome {
	o, err := s.sample(t)
	if err != nil {
		s.blame(check, while, err)
		return nil
	}
	return o
}

// compare records the first row that is decided otherwise in two trials, and tells whether there was one.
func (s *session) compare(check, fix, how string, a, b *outcome, rows []sampling.Request) bool {
	if a == nil || b == nil {
		return false
	}
	for _, r := range rows {
		if d := differs(a, b, r.Index); d != "" {
			s.find(Error, check, fix, "%s, %s %s", d, how, s.seeded())
			return true
		}
	}
	return false
}

const ownRandomness = "take randomness from the row (needs uniform or gumbel) and iterate in a fixed order; clocks, maps and generators of one's own differ from process to process"

func (s *session) determinism() {
	rows := s.rows(s.several())
	s.drop()
	first := s.again("determinism", "a run in a fresh process", trial{rows: rows})
	for range 2 {
		s.drop()
		if s.compare("determinism", ownRandomness, "in a fresh process", first, s.again("determinism", "the same run in a fresh process", trial{rows: rows}), rows) {
			return
		}
	}
}

func (s *session) secondRun() {
	rows := s.rows(s.several())
	s.drop()
	first := s.again("second-run", "a run in a fresh process", trial{rows: rows})
	s.compare("second-run", "make in Start what the planner keeps, and drop it in End", "in a second run of the same process", first,
		s.again("second-run", "a second run in the same process", trial{rows: rows}), rows)
}

// fresh makes the next run one of a fresh process where runs are known to leave something behind.
func (s *session) fresh() {
	if s.failed("second-run") {
		s.drop()
	}
}

func (s *session) purity() {
	if s.target.launch != nil {
		s.rawly("pure", func(r *raw) {
			if d, err := r.describe(s.ctx); err == nil {
				s.pure = d.GetPure()
			}
		})
	}
	if !s.pure {
		s.skip("pure", "it does not say that it is pure")
		return
	}
	s.fresh()
	o := s.again("pure", "a run", trial{rows: s.rows(s.several())})
	if o == nil {
		return
	}
	s.fresh()
	l, err := s.shared()
	if err == nil {
		_, err = l.Start(s.ctx, s.run)
	}
	for i := len(o.steps) - 1; i >= 0 && err == nil; i-- {
		var answer []sampling.Decision
		if answer, err = s.ask(s.ctx, l.Planner, o.steps[i]); err != nil {
			break
		}
		for k := range answer {
			row := &o.steps[i].Rows[k]
			at := slices.IndexFunc(o.rows[row.Index], func(a asked) bool { return a.row.Step == row.Step })
			now := canonical(&answer[k])
			if d := decidesOtherwise(&o.rows[row.Index][at].whole, &now); d != "" {
				s.find(Error, "pure", "leave out Pure where a decision depends on what was asked before", "row %d, step %d: %s when the run's last steps are asked first %s", row.Index, row.Step, d, s.seeded())
				_ = l.End(s.ctx)
				return
			}
		}
	}
	if err == nil {
		err = l.End(s.ctx)
	}
	if err != nil {
		s.blame("pure", "the steps of a run, last first", err)
	}
}

// leavesOver are rules whose breach takes something out of a decision, so that rows may be left over.
var leavesOver = []string{"answers", "positions", "fixed-positions", "eligible", "positions-once", "token-range", "mask-token", "remask-declared", "insertion"}

func (s *session) termination() {
	defer func() { s.flat = false }()
	for _, world := range []struct{ few, flat bool }{{}, {few: true}, {flat: true}} {
		few, rows := world.few, s.rows(s.several())
		s.flat = world.flat
		for i := range rows {
			if few {
				rows[i].Steps = 3
			}
		}
		s.fresh()
		o := s.again("termination", "a run", trial{rows: rows})
		if o == nil || slices.ContainsFunc(leavesOver, s.failed) {
			return
		}
		for _, r := range rows {
			s.terminates(r, o, few)
		}
	}
}

// terminates looks at how one row ended.
func (s *session) terminates(r sampling.Request, o *outcome, few bool) {
	opened, left := 0, 0
	for _, a := range o.rows[r.Index] {
		opened += len(a.decision.Open) + len(a.decision.Overwrite)
		if a.decision.Fill != sampling.FillNone {
			opened++
		}
		left = masks(&a.row) - len(a.decision.Open) + len(a.decision.Remask)
		for _, w := range a.decision.Overwrite {
			if a.row.Flags[w.Position]&sampling.Masked != 0 {
				left--
			}
		}
	}
	result := o.results[r.Index]
	n := len(o.rows[r.Index])
	switch {
	case n > 0 && result.Finish == sampling.FinishStop && left > 0:
		s.find(Warning, "termination", "say done when the row is full, or open what is left with it; the samples of a planner that leaves masks on purpose have them", "row %d: the planner finishes the row in step %d of %d with %d of %d positions masked %s", r.Index, n, o.rows[r.Index][n-1].row.Steps, left, len(r.Tokens), s.seeded())
	case n == 0 || result.Finish != sampling.FinishSteps:
	case opened == 0:
		s.find(Error, "termination", "open at least one position in a step, or all that are left in the last (step + 1 == steps)", "row %d: nothing was opened in %d steps, and the host opened the whole row at once %s", r.Index, n, s.seeded())
	case !s.about.Adaptive:
		s.find(Error, "termination", "open everything that is left in the last step (step + 1 == steps, or s == 0), or describe the planner as adaptive", "row %d: after the last of %d steps %d positions were still masked %s", r.Index, n, left, s.seeded())
	case !few && s.about.CanRemask:
		s.find(Warning, "termination", "remask less towards the end, and fill the row in the last step (step + 1 == steps)", "row %d: after all of %d steps, one for each blank, %d positions were masked, and the host opened them at once %s", r.Index, n, left, s.seeded())
	case !few:
		s.find(Error, "termination", "open at least one position in every step, whatever the threshold says", "row %d: with a step for each blank, %d positions were still masked after the last of %d %s", r.Index, left, n, s.seeded())
	}
}

func masks(r *sampling.Row) (n int) {
	for _, f := range r.Flags {
		if f&sampling.Masked != 0 {
			n++
		}
	}
	return n
}
