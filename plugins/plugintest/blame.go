package plugintest

import (
	"errors"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// fault is a way in which an answer is none.
type fault struct{ text, check, fix string }

// answerFaults are what the protocol's own decoder says of decisions that are none, by rule. Their situation does not matter.
var answerFaults = []fault{
	{"decisions, expected", "answers", "answer every row of the step, in its order, with a decision of its own; one that changes nothing is a decision"},
	{"metric ", "metrics", "leave a metric out where there is no number, such as the mean of nothing"},
	{"next_t", "times", "times run from 1 down to 0; 0 leaves the time to the sampler"},
	{"acted_as", "times", "name a step from the row's own on, below its last"},
	{"expected a number of at least 0", "positions", "count positions from 0 in the row's window; -1 is no position"},
	{"expected as many", "answers", "give lists that belong together the same length"},
	{"fill ", "answers", "fill is none, argmax or draw"},
}

// answerFault returns the rule that an answer breaks, nil where the error is the plugin's own. The decoder names the row of the step, or
// the number of decisions.
func answerFault(err error) *fault {
	if codeOf(err) != sampling.ContractViolation {
		return nil
	}
	for i, f := range answerFaults {
		if strings.Contains(err.Error(), f.text) && (strings.Contains(err.Error(), "of the step")) {
			return &answerFaults[i]
		}
	}
	return nil
}

// trouble is what an error of a plugin means.
type trouble int

const (
	refused trouble = iota // an answer in good order
	crashed                // the process died, or the call panicked
	hung
)

func troubleOf(err error) trouble {
	var e *sampling.Error
	if !errors.As(err, &e) {
		return refused
	}
	switch {
	case e.Code == sampling.Crashed || strings.Contains(e.Problem, panicked):
		return crashed
	case e.Code == sampling.Timeout:
		return hung
	}
	return refused
}

func codeOf(err error) sampling.Code {
	var e *sampling.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// said is an error without the name of the plugin, which the report has, and without advice to its users.
func said(err error) string {
	var e *sampling.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	text := string(e.Code) + ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// blame records an error under the check whose situation brought it about, or under the rule of answers that it breaks. while says
// what was asked, such as "an empty batch". After a crash or a hang the shared life is given up.
func (s *session) blame(check, while string, err error) {
	if s.ctx.Err() != nil {
		return
	}
	switch troubleOf(err) {
	case crashed:
		s.drop()
		s.find(Error, check, "a row that cannot be answered is an error in reply, never the end of the process; the plugin's log has the stack", "%s: expected an answer, found %s %s", while, said(err), s.seeded())
	case hung:
		s.drop()
		s.find(Error, check, "answer, or return an error; the host ends a process that does not", "%s: expected an answer, found %s %s", while, said(err), s.seeded())
	default:
		if f := answerFault(err); f != nil {
			s.find(Error, f.check, f.fix, "%s: the answer is none: %s %s", while, said(err), s.seeded())
			if f.check != check {
				s.skip(check, "the answer cannot be read: see "+f.check)
			}
			return
		}
		s.find(Error, check, "answer what the contract allows the host to ask", "%s: expected an answer, found the error %s %s", while, said(err), s.seeded())
	}
}
