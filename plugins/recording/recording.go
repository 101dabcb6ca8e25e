// Package recording reads what a recorded run said to its planner and heard of it (`mdmhost sample --trace FILE --record`).
package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Recording is what a recorded run said to its planner and heard of it.
type Recording struct {
	Header  sampling.TraceHeader
	Planner string // who answered
	Runs    []Run
	Rows    []sampling.TraceEvent // of event row: what the rows were when they were admitted, in that order
}

// Run is what followed one Start; a planner that died in the run was started again.
type Run struct {
	Run   sampling.Run
	Needs sampling.Needs
	Steps []Step
}

// Step is one question with its answer.
type Step struct {
	Line    int // of the trace
	Step    *pb.Step
	Answers []sampling.Decision
}

// longestLine bounds a line of a trace: a step in base64 within JSON.
const longestLine = 2 * wire.MessageCap

// Read reads the recorded calls of a trace (`mdmhost sample --trace FILE --record`) and leaves out everything else. The error
// names the line. A trace without recorded calls is an error that says how to make one with them.
func Read(r io.Reader) (*Recording, error) {
	out := &Recording{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var call sampling.TraceCall
		version := 0
		if err := json.Unmarshal(lines.Bytes(), &struct {
			Event *string `json:"event"`
			Trace *int    `json:"trace"`
		}{&call.Event, &version}); err != nil {
			return nil, fmt.Errorf("trace, line %d: %w", n, notJSON(err))
		}
		switch {
		case call.Event == "" && version > 0:
			if err := json.Unmarshal(lines.Bytes(), &out.Header); err != nil {
				return nil, fmt.Errorf("trace, line %d: %w", n, notJSON(err))
			}
		case call.Event == sampling.TraceRow:
			var row sampling.TraceEvent
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				return nil, fmt.Errorf("trace, line %d: %w", n, notJSON(err))
			}
			out.Rows = append(out.Rows, row)
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
		r.Runs = append(r.Runs, Run{Run: run, Needs: needs})
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
	run.Steps = append(run.Steps, Step{Line: line, Step: &step, Answers: answers})
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
