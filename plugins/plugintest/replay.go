package plugintest

import (
	"fmt"
	"io"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/recording"
)

// Recording is what a recorded run said to its planner and heard of it.
type Recording = recording.Recording

// RecordedRun is what followed one Start; a planner that died in the run was started again.
type RecordedRun = recording.Run

// RecordedStep is one question with its answer.
type RecordedStep = recording.Step

// ReadRecording reads the recorded calls of a trace; see [recording.Read].
func ReadRecording(r io.Reader) (*Recording, error) { return recording.Read(r) }

func replayChecks() []check {
	return []check{{Rule: Rule{"replay", "replay", "Recorded steps are answered as they were when they were recorded.", "A change of the planner shows before it meets a model.", planners}, after: []string{"start"}, run: (*session).replay}}
}

func (s *session) replay() {
	severity := Warning
	if s.o.Same {
		severity = Error
	}
	for i := range s.o.Replay.Runs {
		if err := s.replayRun(&s.o.Replay.Runs[i], severity); err != nil {
			s.blame("replay", fmt.Sprintf("run %d of the recording", i+1), err)
			return
		}
	}
}

func (s *session) replayRun(r *RecordedRun, severity Severity) error {
	l, err := s.shared()
	if err != nil {
		return err
	}
	needs, err := l.Start(s.ctx, r.Run)
	if err != nil {
		return err
	}
	if more := beyond(needs, r.Needs); len(more) > 0 {
		s.find(severity, "replay", "record the run with this planner", "it needs %s, and the recording by %s has %s", list(more), s.o.Replay.Planner, orNothing(r.Needs))
		return l.End(s.ctx)
	}
	defer func(own sampling.Run) { s.run = own }(s.run)
	s.run = r.Run // whose vocabulary and mask decisions are judged by
	for i := range r.Steps {
		one := &r.Steps[i]
		step, err := new(wire.Decoder).Decode(one.Step)
		if err != nil {
			return err
		}
		now, err := s.ask(s.ctx, l.Planner, step)
		if err != nil {
			return fmt.Errorf("line %d: %w", one.Line, err)
		}
		for k := range now {
			was, is := canonical(&one.Answers[k]), canonical(&now[k])
			if d := decidesOtherwise(&was, &is); d != "" {
				s.find(severity, "replay", "expected if the planner was changed; if not, it is not deterministic", "line %d, row %d, step %d: recorded: %s", one.Line, step.Rows[k].Index, step.Rows[k].Step, strings.Replace(d, "; then", "; now:", 1))
			}
			s.judge(&step.Rows[k], &now[k])
		}
	}
	return l.End(s.ctx)
}

func orNothing(n sampling.Needs) string {
	if text := n.String(); text != "" {
		return text
	}
	return "no statistics"
}
