package plugintest

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

func startChecks() []check {
	return []check{
		{Rule: Rule{"handshake", "start", "The process prints the handshake as its first line and answers within the time allowed.", "The host cannot talk to it otherwise.", nil}, run: (*session).launch},
		{Rule: Rule{"protocol-version", "start", "It speaks version 1 of the protocol, over gRPC.", "A host refuses versions that it does not know.", nil}, run: launched},
		{Rule: Rule{"kind", "start", "It serves the kind of plugin that it says it is, and that it is used as.", "A sampler cannot do a planner's work.", nil}, run: launched},
		{Rule: Rule{"description", "start", "It says its name, its version (semantic) and one line of what it does.", "Lists, locks and errors name plugins by them.", nil}, run: (*session).describe},
		{Rule: Rule{"schema", "start", "The options schema is a JSON object schema; defaults have the type, the bounds and the values that it states.", "The host checks and documents options by it.", nil}, run: (*session).checkSchema},
		{Rule: Rule{"start", "start", "A run with default options starts.", "It is what everybody tries first.", nil}, run: (*session).start},
	}
}

// needsChecks are about what Start asks for.
func needsChecks() []check {
	return []check{
		{Rule: Rule{"needs-declared", "start", "Start asks for no statistics beyond those described.", "The host prepares the runtime by the description.", running}, after: []string{"start"}, run: (*session).needsDeclared},
		{Rule: Rule{"needs-stable", "start", "The same options ask for the same statistics, in every run.", "A restarted plugin would be sent other columns than the runtime computes.", running}, after: []string{"start"}, run: (*session).needsStable},
	}
}

// launched stands for rules that the launch looks at in passing.
func launched(*session) {}

// slow is a start that users notice.
const slow = 5 * time.Second

// launch starts the plugin for the first time.
func (s *session) launch() {
	l, err := s.shared()
	if err == nil {
		s.about, s.pure = l.description, l.pure
		s.report.Kind, s.report.Name, s.report.Version = l.description.Kind, l.description.Name, l.description.Version
		if l.process != nil {
			if s.report.Starting = l.process.Starting(); s.report.Starting > slow {
				s.find(Warning, "handshake", "load models and libraries in Start, or on the first call", "expected a start within %v, found %.1f s", slow, s.report.Starting.Seconds())
			}
		}
		if l.description.Kind != s.target.kind {
			s.find(Error, "kind", "describe it as what it is", "expected a %s, found a %s", s.target.kind, l.description.Kind)
			s.halt("it is of another kind")
		}
		return
	}
	id, fix := "handshake", "serve with a kit, which prints the handshake first and sends everything else to standard error"
	switch text := err.Error(); {
	case strings.Contains(text, "speaks protocol version"), strings.Contains(text, "its handshake is not one"):
		id, fix = "protocol-version", "build it with a kit of protocol version 1"
	case strings.Contains(text, "it is not a "), strings.Contains(text, "it says that it is a"):
		id, fix = "kind", "register the service of the kind that it describes itself as, and name that kind (--kind)"
	case strings.Contains(text, "description:"):
		id, fix = "description", "give it a name"
	case strings.Contains(text, "during Describe"), strings.Contains(text, "answer to Describe"):
		id, fix = "description", "answer Describe at any time, before any run"
	case codeOf(err) == sampling.Crashed:
		fix = "make it start: its last words say what is missing; it sees no variable of the environment, not even HOME and PATH, but those that plugins.env names"
	case codeOf(err) == sampling.Timeout:
		fix = "serve first, and load models and libraries in Start"
	}
	var e *sampling.Error
	if errors.As(err, &e) && e.Code == sampling.InvalidConfig && e.Hint != "" { // it was not even started
		fix = e.Hint
	}
	s.find(Error, id, fix, "%s", said(err))
	s.life = nil
	s.halt("it does not start")
}

var (
	semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	named    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
)

func (s *session) describe() {
	d := s.about
	if !named.MatchString(d.Name) {
		s.find(Warning, "description", "take a name that can be typed after --planner", "expected a name of lower-case letters, digits, - and _, found %q", d.Name)
	}
	if !semantic.MatchString(d.Version) {
		s.find(Warning, "description", "give it a version such as 0.1.0", "expected a semantic version, found %q", d.Version)
	}
	if d.Summary == "" || strings.ContainsAny(d.Summary, "\r\n") {
		s.find(Warning, "description", "say in one line what it does, for `mdmhost plugin list`", "expected a summary of one line, found %q", d.Summary)
	}
	if d.Kind == sampling.KindPlanner && d.CanInsert {
		s.find(Warning, "description", "make it a sampler: planners do not see rows that grow", "the planner is described with can_insert true")
	}
}

// runs are those that plugins may be made for, the usual one first.
func (s *session) runs() []sampling.Run {
	plain := sampling.Run{ID: "check", Options: s.o.Settings, MaskID: maskID, V: vocabulary, Temperature: 1, Capabilities: (&model{}).Capabilities()}
	speeds, grows := plain, plain
	for v := range vocabulary {
		speeds.Exponents = append(speeds.Exponents, 0.5+float32(v)/vocabulary)
	}
	grows.Insertion = &sampling.Growth{Gap: sampling.GapTail, Cap: 48, A: 1}
	return []sampling.Run{plain, speeds, grows}
}

// start finds the run that the plugin takes with its default options.
func (s *session) start() {
	if s.target.kind == sampling.KindTrainer {
		s.startTrainer()
		return
	}
	all := s.runs()
	if s.about.CanInsert && s.target.kind == sampling.KindSampler {
		all[0], all[2] = all[2], all[0]
	}
	var first error
	for _, run := range all {
		run.KeepsWritten = s.target.kind == sampling.KindSampler || !s.about.CanRemask // the planner that samplers ask keeps them, too
		needs, err := s.begin(run)
		if err == nil {
			s.run, s.needs = run, needs
			return
		}
		if first == nil {
			first = err
		}
		if troubleOf(err) != refused {
			break
		}
	}
	s.blame("start", "Start with "+s.told(), first)
	s.halt("a run with " + s.told() + " does not start")
}

// told says which options runs have.
func (s *session) told() string {
	if string(s.o.Settings) == "{}" {
		return "default options"
	}
	return "the options " + string(s.o.Settings)
}

// begin starts a run in the shared life and ends it.
func (s *session) begin(run sampling.Run) (sampling.Needs, error) {
	l, err := s.shared()
	if err != nil {
		return sampling.Needs{}, err
	}
	if s.target.kind == sampling.KindSampler {
		needs, err := l.sampler.Start(s.ctx, run)
		if err == nil {
			err = l.sampler.End(s.ctx)
		}
		return needs, err
	}
	needs, err := l.Start(s.ctx, run)
	if err == nil {
		err = l.End(s.ctx)
	}
	return needs, err
}

func (s *session) needsDeclared() {
	for _, n := range beyond(s.needs, s.about.Needs) {
		s.find(Error, "needs-declared", "describe the largest set of needs that any options can ask for", "Start asks for %s, which the description does not declare", n)
	}
}

// beyond lists what needs asks for and declared does not. Which distribution a statistic is of may depend on the options.
func beyond(needs, declared sampling.Needs) (out []string) {
	name := func(s string) string {
		s, _, _ = strings.Cut(s, "(")
		return s
	}
	has := map[string]bool{}
	for _, n := range declared.List() {
		has[name(n)] = true
	}
	for _, n := range needs.List() {
		if !has[name(n)] || name(n) == "topk" && needs.TopK > declared.TopK {
			out = append(out, n)
		}
	}
	return out
}

func (s *session) needsStable() {
	s.drop()
	for range 2 {
		needs, err := s.begin(s.run)
		if err == nil && needs.String() != s.needs.String() {
			err = errors.New("the needs are others")
		}
		if err != nil && troubleOf(err) == refused {
			s.find(Error, "needs-stable", "derive the needs from the options and the run alone", "Start with the same options: expected the needs %q again, found %q (%s)", s.needs.String(), needs.String(), said(err))
			return
		} else if err != nil {
			s.blame("needs-stable", "Start with the same options again", err)
			return
		}
	}
}
