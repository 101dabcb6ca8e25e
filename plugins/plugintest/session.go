package plugintest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

// Options of [Check].
type Options struct {
	Seed  uint64 // of the rows, logits and noise
	Quick bool   // fewer rows, calls and trials
	// Settings are the options of the plugin's runs, a JSON object; nil: its defaults.
	Settings []byte
	// Call is the longest that an answer may take; 0 is 10 s, or the deadline of the program.
	Call time.Duration
	// Progress is told of each check before it runs, with its number and theirs; nil tells nobody.
	Progress func(rule Rule, at, of int)
	Replay   *Recording // steps that were recorded, to be asked again; nil: none
	Same     bool       // answers that differ from the recorded ones are errors, not warnings
}

// atMost is how many findings with the same check and fix are told in full.
const atMost = 3

// session is one examination.
type session struct {
	ctx    context.Context
	target Target
	o      Options
	report Report

	about   sampling.Description
	pure    bool
	run     sampling.Run   // with the default options, as the plugin takes it
	needs   sampling.Needs // of that run
	life    *life          // that checks share; nil after a death
	flat    bool           // the model is sure of nothing
	halted  string         // why no further check can be judged
	skipped map[string]string
	planned bool      // the plugin has answered a step
	task    spec.Task // of trainers
}

// Check examines a plugin. The error is that of ctx; everything else stands in the report.
func Check(ctx context.Context, target Target, o Options) (*Report, error) {
	if o.Call == 0 {
		o.Call = 10 * time.Second
	}
	if o.Settings == nil {
		o.Settings = []byte("{}")
	}
	s := &session{ctx: ctx, target: target, o: o, skipped: map[string]string{}}
	s.report = Report{Kind: target.kind, Plugin: "in process", Seed: o.Seed, Quick: o.Quick, Findings: []Finding{}}
	if launch := target.launch; launch != nil {
		if s.report.Plugin = launch.Path; launch.Path == "" {
			s.report.Plugin = launch.Name
		}
		if launch.Deadlines.Call == 0 {
			launch.Deadlines.Call = o.Call
		}
		s.o.Call = launch.Deadlines.Call
	}
	defer func() { s.life.close() }()
	began, all := time.Now(), table()
	all = slices.DeleteFunc(all, func(c check) bool {
		return !c.isFor(target.kind) || c.process && target.launch == nil || c.value && target.launch != nil || c.Theme == "replay" && o.Replay == nil
	})
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.do(&all[i], i, len(all))
	}
	for i := range all {
		s.conclude(&all[i])
	}
	s.report.Took = time.Since(began)
	return &s.report, ctx.Err()
}

// waiting is why a rule is not judged whose ground is missing.
const waiting = "waits for "

// do runs one check, unless what it builds on is broken.
func (s *session) do(c *check, at, of int) {
	if s.halted != "" {
		s.skipped[c.ID] = s.halted
		return
	}
	for _, id := range c.after {
		before, waits := strings.CutPrefix(s.skipped[id], waiting)
		switch {
		case s.failed(id):
			s.skipped[c.ID] = waiting + id
			return
		case waits:
			s.skipped[c.ID] = waiting + before
			return
		}
	}
	if c.run == nil {
		return
	}
	if s.o.Progress != nil {
		s.o.Progress(c.Rule, at, of)
	}
	c.run(s)
}

// conclude writes the check's line of the report.
func (s *session) conclude(c *check) {
	o := Outcome{Check: c.ID, Theme: c.Theme, Rule: c.Text, Outcome: Passed}
	reason, skipped := s.skipped[c.ID]
	switch {
	case slices.ContainsFunc(s.report.Findings, func(f Finding) bool { return f.Check == c.ID && f.Severity != Note }):
		o.Outcome = Failed
	case skipped:
		o.Outcome, o.Reason = Skipped, reason
	case c.run == nil && !s.planned:
		o.Outcome, o.Reason = Skipped, "no step was answered"
	}
	s.report.Checks = append(s.report.Checks, o)
}

// find records a finding; of those with the same check and fix a few are told in full.
func (s *session) find(severity Severity, check, fix, problem string, args ...any) {
	f := Finding{Severity: severity, Check: check, Problem: fmt.Sprintf(problem, args...), Fix: fix}
	last, told := -1, 0
	for i, g := range s.report.Findings {
		if g.Check == check && g.Severity == severity && g.Fix == fix {
			if last, told = i, told+1; g.Problem == f.Problem {
				return
			}
		}
	}
	if told == atMost {
		s.report.Findings[last].Again++
		return
	}
	s.report.Findings = append(s.report.Findings, f)
}

// failed tells whether a check has found an error.
func (s *session) failed(id string) bool {
	return slices.ContainsFunc(s.report.Findings, func(f Finding) bool { return f.Check == id && f.Severity == Error })
}

// skip says why a check has nothing to look at.
func (s *session) skip(id, reason string) { s.skipped[id] = reason }

// halt ends the examination: nothing further can be judged.
func (s *session) halt(reason string) { s.halted = reason }

// shared returns the life that checks share, begun anew where the last one died.
func (s *session) shared() (*life, error) {
	if s.life != nil {
		return s.life, nil
	}
	var err error
	s.life, err = s.target.begin(s.ctx, s.o.Call)
	return s.life, err
}

// drop gives the shared life up: what it did leaves nothing behind for the next check.
func (s *session) drop() {
	if s.life != nil && s.life.process != nil && s.failed("shutdown") {
		_ = killed(s.life.process.Pid()) // it would not end by itself
	}
	s.life.close()
	s.life = nil
}

// seeded is how problems name the seed.
func (s *session) seeded() string { return fmt.Sprintf("(seed %d)", s.o.Seed) }

// list joins words as people do.
func list(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
