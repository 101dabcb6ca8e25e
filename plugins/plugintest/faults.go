package plugintest

import (
	"context"
	"fmt"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func faultChecks() []check {
	process := func(id, text, why string, kinds []sampling.Kind, run func(*session)) check {
		return check{Rule: Rule{id, "faults", text, why, kinds}, process: true, after: []string{"start", "kill"}, run: run}
	}
	return []check{
		{Rule: Rule{"order-of-calls", "faults", "Plan before Start is a CONTRACT_VIOLATION; Start twice begins anew, or is one; End without Start does no harm.", "Hosts crash between calls, too.", planners}, after: []string{"kill", "plan"}, run: (*session).orderOfCalls},
		{Rule: Rule{"cancellation", "faults", "A call that is cancelled or times out leaves the plugin as it was.", "Ctrl-C must not spoil what is still to be written.", planners}, after: []string{"kill", "plan", "determinism", "batch-sizes"}, run: (*session).cancellation},
		process("description-stable", "The description is the same before and after a run, and in a fresh process.", "The host asks once and believes it.", nil, (*session).descriptionStable),
		process("by-hand", "Started by hand it says what it is, and ends.", "People start it to see what it is.", nil, (*session).byHand),
		process("stdout", "Nothing is printed on standard output after the handshake.", "It is lost: what is to be seen goes to standard error.", nil, (*session).stdout),
		process("sigterm", "SIGTERM ends it within two seconds.", "It is how systems stop services.", nil, (*session).sigterm),
		process("lifeline", "It ends by itself within two seconds when the host is gone.", "Processes would pile up, and hold the GPU.", nil, (*session).lifeline),
		{Rule: Rule{"memory", "faults", "Memory stays as it is over hundreds of calls.", "Long runs would end for want of memory.", planners}, process: true, after: []string{"kill", "plan"}, run: (*session).memory},
	}
}

// endChecks come first: whoever does not end in good order would make all others slow.
func endChecks() []check {
	return []check{
		{Rule: Rule{"kill", "faults", "After SIGKILL a new process serves at once.", "Locks and sockets that are left behind would bar the next one.", nil}, process: true, after: []string{"start"}, run: (*session).kill},
		{Rule: Rule{"shutdown", "faults", "It ends within two seconds when the host asks it to.", "The host kills it then, and what it has not saved is lost.", nil}, process: true, after: []string{"start", "kill"}, run: (*session).shutdown},
	}
}

func (s *session) orderOfCalls() {
	const check = "order-of-calls"
	s.drop()
	step := s.made(check, blank(5, 9), blank(6, 4))
	if step == nil {
		return
	}
	l, err := s.shared()
	if err != nil {
		s.blame(check, "a fresh process", err)
		return
	}
	before := &sampling.Step{Run: step.Run} // a host that has not started a run knows of no needs
	for i := range step.Rows {
		r := &step.Rows[i]
		before.Rows = append(before.Rows, sampling.Row{Index: r.Index, Slot: r.Slot, Length: r.Length, Blanks: r.Blanks, Steps: r.Steps, T: r.T, S: r.S, AlphaT: r.AlphaT, AlphaS: r.AlphaS, Token: r.Token, Flags: r.Flags})
	}
	switch err := l.Plan(s.ctx, before, make([]sampling.Decision, len(before.Rows))); {
	case err == nil:
		s.find(Warning, check, "refuse Plan with CONTRACT_VIOLATION until Start was called", "Plan before Start: expected CONTRACT_VIOLATION, found decisions")
	case troubleOf(err) != refused:
		s.blame(check, "Plan before Start", err)
	case codeOf(err) != sampling.ContractViolation:
		s.find(Warning, check, "refuse Plan with CONTRACT_VIOLATION until Start was called", "Plan before Start: expected CONTRACT_VIOLATION, found %s", said(err))
	}
	if l, err = s.shared(); err != nil {
		s.blame(check, "a process after Plan before Start", err)
		return
	}
	if err := s.endFirst(l); err != nil && codeOf(err) != sampling.ContractViolation {
		s.blame(check, "End without Start", err)
	}
	for i := range 2 {
		if l, err = s.shared(); err == nil {
			_, err = l.Start(s.ctx, s.run)
		}
		if i == 1 && codeOf(err) == sampling.ContractViolation {
			err = nil
		}
		if err != nil {
			s.blame(check, fmt.Sprintf("Start number %d in a row", i+1), err)
			return
		}
	}
	if _, err := s.ask(s.ctx, l.Planner, step); err != nil {
		s.blame(check, "Plan after Start twice", err)
		return
	}
	if err := l.End(s.ctx); err != nil {
		s.blame(check, "End after Start twice", err)
	}
}

// endFirst asks a plugin to end a run that was not started.
func (s *session) endFirst(l *life) error {
	if l.process == nil {
		return l.End(s.ctx)
	}
	r, err := s.raw()
	if err != nil {
		return err
	}
	defer r.close()
	return r.end(s.ctx, s.o.Call)
}

// cancellation gives calls up after several times, and asks again.
func (s *session) cancellation() {
	const check = "cancellation"
	s.drop()
	rows := s.rows(s.several())
	plain := s.again(check, "a run", trial{rows: rows})
	big := s.made(check, s.rows(64)...)
	if plain == nil || big == nil {
		return
	}
	for _, after := range []time.Duration{0, 200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond} {
		l, err := s.shared()
		if err == nil {
			_, err = l.Start(s.ctx, s.run)
		}
		if err != nil {
			s.blame(check, "Start", err)
			return
		}
		short, cancel := context.WithTimeout(s.ctx, after)
		_ = l.Plan(short, big, make([]sampling.Decision, len(big.Rows))) // answered or given up: both are fine
		cancel()
		if _, err := s.ask(s.ctx, l.Planner, big); err != nil {
			s.blame(check, fmt.Sprintf("Plan after one that was given up after %v", after), err)
			return
		}
		if err := l.End(s.ctx); err != nil {
			s.blame(check, "End", err)
			return
		}
	}
	s.fresh()
	s.compare(check, "undo what an unfinished call has changed, or change it at the end", "decided after calls that were given up", plain, s.again(check, "a run after calls that were given up", trial{rows: rows}), rows)
}

// works tells whether the plugin serves.
func (s *session) works() error { return s.begins(string(s.o.Settings)) }

func (s *session) kill() {
	l, err := s.shared()
	if err != nil {
		s.blame("kill", "a fresh process", err)
		return
	}
	if err := killed(l.process.Pid()); err != nil {
		s.skip("kill", err.Error())
		return
	}
	s.drop()
	if err := s.works(); err != nil {
		s.blame("kill", "a new process after SIGKILL", err)
		s.halt("it does not start again after SIGKILL")
	}
}

// grace is how long a process may take to end.
const grace = 2 * time.Second

// slack is for the machine: what takes this much less than grace was in time.
const slack = 100 * time.Millisecond

// shutdown measures how long the end takes; twice before it blames anybody, as machines are busy.
func (s *session) shutdown() {
	for range 2 {
		l, err := s.shared()
		if err != nil {
			s.blame("shutdown", "a fresh process", err)
			return
		}
		if err := s.works(); err != nil {
			return // told elsewhere
		}
		began := time.Now()
		l.close()
		s.life = nil
		if time.Since(began) < grace-slack {
			return
		}
	}
	s.find(Error, "shutdown", "serve go-plugin's GRPCController, whose Shutdown ends the process, and do not wait there", "asked to end (Shutdown), the process was still there after %v and was killed", grace)
}

const (
	warmth = 10        // calls, after which the memory of a process is looked at
	far    = 256 << 20 // bytes of growth, at which the check ends before the machine's memory does
	leaked = "drop in End what a run keeps, and reuse buffers"
)

// memory looks at the resident memory of the process three times over a run of calls.
func (s *session) memory() {
	calls := 500
	if s.o.Quick {
		calls = 200
	}
	s.drop()
	step := s.made("memory", s.rows(8)...)
	l, err := s.shared()
	if step == nil || err != nil {
		return
	}
	var seen []int64
	var warm int64 // bytes after the first calls, when libraries are loaded
	for i := 0; i <= calls && err == nil; i++ {
		if i%(calls/4) == 0 && i > 0 {
			n, ok := resident(l.process.Pid())
			if !ok {
				s.skip("memory", "this system does not tell a process's memory")
				return
			}
			seen = append(seen, n)
			if i == calls {
				break
			}
			err = l.End(s.ctx) // what a run keeps may stay until its end
		}
		if err == nil && i%(calls/4) == 0 {
			_, err = l.Start(s.ctx, s.run)
		}
		if err == nil {
			err = l.Plan(s.ctx, step, make([]sampling.Decision, len(step.Rows)))
		}
		switch now, _ := resident(l.process.Pid()); {
		case i == warmth:
			warm = now
		case i > warmth && now-warm > far:
			s.find(Warning, "memory", leaked, "the process grew by %d MiB in %d calls, and the check stopped there", (now-warm)>>20, i-warmth)
			s.drop()
			return
		}
	}
	if err == nil {
		err = l.End(s.ctx)
	}
	if err != nil {
		s.blame("memory", "the same step again and again", err)
		return
	}
	if a, b := seen[2]-seen[1], seen[3]-seen[2]; a > 2<<20 && b > 2<<20 && a+b > 8<<20 {
		s.find(Warning, "memory", leaked, "the process grew by %d MiB in %d calls, and went on growing (%d, %d, %d, %d MiB)", (seen[3]-seen[1])>>20, calls/2, seen[0]>>20, seen[1]>>20, seen[2]>>20, seen[3]>>20)
	}
}
