package plugintest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

type surest struct {
	K int `option:"k" default:"1" min:"1" help:"positions opened in a step, and more where few steps are left"`
}

// most makes a planner that opens the k positions whose statistic is largest.
func most(of func(sdk.Row) []float32, needs sdk.Statistic) func() sampling.Planner {
	return func() sampling.Planner {
		return sdk.NewPlanner("surest", func(o surest) sdk.PlanRow {
			return func(r sdk.Row) sdk.Decision {
				e := r.Eligible()
				return r.Open(e.LargestBy(of(r), max(o.K, e.Len()/max(r.Steps-r.Step, 1))))
			}
		}, sdk.Needs(needs), sdk.Version("0.1.0"), sdk.Summary("a test"), sdk.Pure())
	}
}

var (
	byP1 = most(func(r sdk.Row) []float32 { return r.P1 }, sdk.P1)
	byP2 = most(func(r sdk.Row) []float32 { return r.P2 }, sdk.P2)
)

// recorded is the trace of a run of a planner, with lines that are none of the recording between them.
func recorded(t testing.TB, planner func() sampling.Planner) []byte {
	t.Helper()
	s := &session{ctx: t.Context(), target: Planner(planner), o: Options{Seed: 4, Call: longest, Settings: []byte("{}")}, skipped: map[string]string{}}
	defer s.drop()
	s.launch()
	s.start()
	o, err := s.sample(trial{rows: s.rows(4)})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	line := func(v any) {
		if err := json.NewEncoder(&out).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(m proto.Message) []byte {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	line(sampling.TraceHeader{Trace: 1, Seed: 4, Planner: "surest"})
	line(sampling.TraceCall{Event: sampling.TraceStart, Planner: "surest", Question: encoded(wire.RunToProto(s.run)), Answer: encoded(&pb.StartReply{Needs: wire.NeedsToProto(s.needs)})})
	encoder := wire.Encoder{Needs: s.needs}
	for i, step := range o.steps {
		m, err := encoder.Encode(step)
		if err != nil {
			t.Fatal(err)
		}
		line(sampling.TraceCall{Event: sampling.TracePlan, Question: encoded(m), Answer: encoded(&pb.PlanReply{Decisions: wire.DecisionsToProto(o.answers[i])})})
		line(sampling.TraceEvent{Event: sampling.TraceStep, Step: i})
	}
	return out.Bytes()
}

// replayed is what the check finds in a recording.
func replayed(t *testing.T, trace []byte, planner func() sampling.Planner, same bool) (*Report, []Finding) {
	t.Helper()
	recording, err := ReadRecording(bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	report, err := Check(t.Context(), Planner(planner), Options{Seed: 1, Quick: true, Replay: recording, Same: same, Call: longest})
	if err != nil {
		t.Fatal(err)
	}
	var found []Finding
	for _, f := range report.Findings {
		if f.Check == "replay" {
			found = append(found, f)
		}
	}
	return report, found
}

func TestReplay(t *testing.T) {
	trace := recorded(t, byP1)
	if report, found := replayed(t, trace, byP1, true); len(found) > 0 || !report.OK() {
		t.Errorf("the planner that was recorded answers otherwise: %+v", report.Findings)
	}
	reversed := most(func(r sdk.Row) []float32 {
		out := make([]float32, len(r.P1))
		for i, p := range r.P1 {
			out[i] = -p
		}
		return out
	}, sdk.P1)
	report, found := replayed(t, trace, reversed, false)
	if len(found) != atMost || !report.OK() || found[0].Severity != Warning || !strings.Contains(found[0].Problem, "line 3, row 100, step 0: recorded: opens [") || !strings.Contains(found[0].Problem, "; now: opens [") {
		t.Errorf("a changed planner is told so, with what it did and does: %+v", found)
	}
	if report, _ := replayed(t, trace, reversed, true); report.OK() {
		t.Error("--same makes differences errors")
	}
	if _, found := replayed(t, trace, byP2, false); len(found) != 1 || !strings.Contains(found[0].Problem, "it needs p2, and the recording by surest has p1") {
		t.Errorf("what the recording lacks is told: %+v", found)
	}
}

func TestTracesThatAreNoRecordings(t *testing.T) {
	trace := string(recorded(t, byP1))
	lines := strings.SplitAfter(trace, "\n")
	for want, text := range map[string]string{
		"holds no calls of a planner; record them: mdmhost sample --trace FILE --record": lines[0],
		"line 1: expected a JSON object":                                                 "trace\n",
		"line 2: a step before the start of a run":                                       lines[0] + lines[2],
		"line 1: event plan: the question is no message":                                 `{"event":"plan","question":"/w==","answer":""}` + "\n",
		"line 1: event start: the answer is no message":                                  `{"event":"start","question":"","answer":"/w=="}` + "\n",
		"line 3: 0 decisions, expected":                                                  lines[0] + lines[1] + lines[2][:strings.Index(lines[2], `"answer"`)] + `"answer":""}`,
		"line 1: illegal base64 data":                                                    `{"event":"start","question":"*"}`,
		"the field event has another type, found a number":                               `{"event":7}`,
		"line 1: expected a JSON object, found array":                                    "[]\n",
	} {
		if strings.HasPrefix(want, "line 1: event plan") || strings.HasPrefix(want, "line 3") {
			want = want[strings.Index(want, ": ")+2:]
		}
		if strings.HasPrefix(text, `{"event":"plan"`) {
			text = lines[1] + text
		}
		if _, err := ReadRecording(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzReadRecording: whatever a file holds, it is refused or can be asked.
func FuzzReadRecording(f *testing.F) {
	f.Add(recorded(f, byP1))
	f.Add([]byte(`{"event":"start","question":"","answer":""}`))
	f.Fuzz(func(t *testing.T, trace []byte) {
		r, err := ReadRecording(bytes.NewReader(trace))
		if err != nil {
			return
		}
		for _, run := range r.Runs {
			for _, s := range run.Steps {
				step, err := new(wire.Decoder).Decode(s.Step)
				if err != nil || len(step.Rows) != len(s.Answers) {
					t.Fatalf("line %d: %v, %d answers", s.Line, err, len(s.Answers))
				}
			}
		}
	})
}
