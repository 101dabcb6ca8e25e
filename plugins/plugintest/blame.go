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

// fixes are what to do about a check whose situation goes wrong, whether by a crash, a hang or an error.
var fixes = map[string]string{
	"spec":            "mend what the problem names; plugins/proto/mdmhost/v1/plugin.proto has what each part of BuildReply must be, and the kits' helpers write it",
	"kill":            "look whether the process that has left a lock or a socket behind still lives, and take over from one that does not",
	"start":           "let the defaults make a run that works: it is what everybody tries first",
	"option-defaults": "accept the default that the schema states, or state another",
	"cancellation":    "release locks, and undo what was begun, when a call's context ends",
	"order-of-calls":  "let Start begin anew, whatever came before it",
	"empty-batch":     "answer a step without rows with no decisions, before waiting for a row or indexing the first",
	"empty-row":       "look whether anything is eligible before dividing by a count or indexing a list",
	"fixed-rows":      "look whether anything is eligible before dividing by a count or indexing a list; a decision that does nothing is an answer",
	"batch-sizes":     "make room for the rows that a step has, or for max_rows of the run's capabilities",
	"long-row":        "mind work that grows with the square of the length",
	"not-a-number":    "look for NaN before comparing, sorting or indexing with a statistic, and refuse the row with an error; the kits' row helpers do",
}

// fix says what to do about an error in the situation of a check.
func fix(check string, err error) string {
	if text := fixes[check]; text != "" {
		return text
	}
	switch t := troubleOf(err); {
	case t == crashed && codeOf(err) == sampling.Internal:
		return "look at the line that the error names: a statistic that is not in Needs is empty, and a row may have nothing eligible; the plugin's log has the stack (plugins.log=debug)"
	case t == crashed:
		return "let what cannot be answered be an error in reply, never the end of the process; the plugin's log has the stack (plugins.log=debug)"
	case t == hung:
		return "answer, or return an error; the host ends a process that does not"
	}
	var e *sampling.Error
	if errors.As(err, &e) && e.Code == sampling.ContractViolation && e.Hint != "" && !strings.Contains(e.Hint, "report it") {
		return e.Hint
	}
	return "answer what the contract allows the host to ask"
}

// blame records an error under the check whose situation brought it about, or under the rule of answers that it breaks. while says
// what was asked, such as "an empty batch". After a crash or a hang the shared life is given up.
func (s *session) blame(check, while string, err error) {
	if s.ctx.Err() != nil {
		return
	}
	if f := answerFault(err); f != nil {
		s.find(Error, f.check, f.fix, "%s: %s: the answer is none: %s %s", while, where(err), said(err), s.seeded())
		if f.check != check {
			s.skip(check, "the answer cannot be read: see "+f.check)
		}
		return
	}
	found := "the error " + said(err)
	if troubleOf(err) != refused {
		s.drop()
		found = said(err)
	}
	s.find(Error, check, fix(check, err), "%s: expected an answer, found %s %s", while, found, s.seeded())
}

// where is the row that an error names, or the whole answer.
func where(err error) string {
	var e *sampling.Error
	if errors.As(err, &e) {
		if at := strings.LastIndex(e.Object, "row "); at >= 0 {
			return e.Object[at:]
		}
	}
	return "all rows"
}
