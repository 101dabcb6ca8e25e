package plugintest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Recording is what a recorded run said to its planner and heard of it.
type Recording struct {
	Planner string // who answered
	Runs    []RecordedRun
}

// RecordedRun is what followed one Start; a planner that died in the run was started again.
type RecordedRun struct {
	Run   sampling.Run
	Needs sampling.Needs
	Steps []RecordedStep
}

// RecordedStep is one question with its answer.
type RecordedStep struct {
	Line    int // of the trace
	Step    *pb.Step
	Answers []sampling.Decision
}

// longestLine bounds a line of a trace: a step in base64 within JSON.
const longestLine = 2 * wire.MessageCap

// ReadRecording reads the recorded calls of a trace (`mdmhost sample --trace FILE --record`) and leaves out everything else. The error
// names the line. A trace without recorded calls is an error that says how to make one with them.
func ReadRecording(r io.Reader) (*Recording, error) {
	out := &Recording{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var call sampling.TraceCall
		if err := json.Unmarshal(lines.Bytes(), &struct {
			Event *string `json:"event"`
		}{&call.Event}); err != nil {
			return nil, fmt.Errorf("trace, line %d: %w", n, notJSON(err))
		}
		if call.Event != sampling.TraceStart && call.Event != sampling.TracePlan {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return nil, fmt.Errorf("trace, line %d: %w", n, notJSON(err))
		}
		if err := out.add(&call, n); err != nil {
			return nil, fmt.Errorf("trace, line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if len(out.Runs) == 0 {
		return nil, fmt.Errorf("trace: it holds no calls of a planner; record them: mdmhost sample --trace FILE --record")
	}
	return out, nil
}

// notJSON says what a line is instead of an event of a trace, without the types of this program.
func notJSON(err error) error {
	var other *json.UnmarshalTypeError
	var broken *json.SyntaxError
	switch {
	case errors.As(err, &broken):
		return fmt.Errorf("expected a JSON object: %w", err)
	case errors.As(err, &other) && other.Field != "":
		return fmt.Errorf("the field %s has another type, found a %s; record the run anew", other.Field, other.Value)
	case errors.As(err, &other):
		return fmt.Errorf("expected a JSON object, found %s; name a file of mdmhost sample --trace FILE --record", other.Value)
	}
	return err
}

func (r *Recording) add(call *sampling.TraceCall, line int) error {
	if call.Event == sampling.TraceStart {
		var question pb.StartRequest
		var answer pb.StartReply
		if err := decode(call, &question, &answer); err != nil {
			return err
		}
		run, err := wire.RunFromProto(&question)
		if err != nil {
			return err
		}
		needs, err := wire.NeedsFromProto(answer.GetNeeds())
		if err != nil {
			return err
		}
		r.Planner = call.Planner
		r.Runs = append(r.Runs, RecordedRun{Run: run, Needs: needs})
		return nil
	}
	if len(r.Runs) == 0 {
		return fmt.Errorf("a step before the start of a run; record the run anew")
	}
	var step pb.Step
	var answer pb.PlanReply
	if err := decode(call, &step, &answer); err != nil {
		return err
	}
	if _, err := new(wire.Decoder).Decode(&step); err != nil {
		return err
	}
	answers := make([]sampling.Decision, len(step.GetN()))
	if err := wire.DecisionsFromProto(answer.GetDecisions(), answers); err != nil {
		return err
	}
	run := &r.Runs[len(r.Runs)-1]
	run.Steps = append(run.Steps, RecordedStep{Line: line, Step: &step, Answers: answers})
	return nil
}

// decode reads both messages of a call.
func decode(call *sampling.TraceCall, question, answer proto.Message) error {
	if err := proto.Unmarshal(call.Question, question); err != nil {
		return fmt.Errorf("event %s: the question is no message of the protocol: %w", call.Event, err)
	}
	if err := proto.Unmarshal(call.Answer, answer); err != nil {
		return fmt.Errorf("event %s: the answer is no message of the protocol: %w", call.Event, err)
	}
	return nil
}

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
