package replay_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/runtimes/replay"
)

// trace is a recorded run of one row of two positions, masked by token 2, which needs p1.
func trace(t testing.TB, held sampling.Needs) string {
	t.Helper()
	needs := sampling.Needs{P1: true}
	step := &sampling.Step{Run: "r", Rows: []sampling.Row{{Length: 2, Blanks: 2, Steps: 2, Token: []int32{2, 2}, Flags: []sampling.Flags{5, 5}, Proposal: []int32{0, 1}, P1: []float32{0.5, 0.25}}}}
	question, err := (&wire.Encoder{Needs: held}).Encode(step)
	if err != nil {
		t.Fatal(err)
	}
	line := func(event string, q, a proto.Message) string {
		c := sampling.TraceCall{Event: event, Planner: "p"}
		var err error
		if c.Question, err = proto.Marshal(q); err != nil {
			t.Fatal(err)
		}
		if c.Answer, err = proto.Marshal(a); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	return `{"trace":1,"seed":7,"model":"m","sampler":"masked","planner":"p"}` + "\n" +
		line(sampling.TraceStart, wire.RunToProto(sampling.Run{ID: "r", MaskID: 2, V: 3, Options: []byte("{}")}), &pb.StartReply{Needs: wire.NeedsToProto(needs)}) +
		line(sampling.TracePlan, question, &pb.PlanReply{Decisions: wire.DecisionsToProto([]sampling.Decision{{Open: []int32{1}}})})
}

// asked opens a recording and asks for the row's first step.
func asked(t testing.TB, text string) (*sampling.Statistics, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := replay.Open(name, replay.Model{Name: "m", MaskID: 2, V: 3}, replay.Options{})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	head := sampling.Head{Needs: d.Capabilities().Serves}
	if err := d.Configure(t.Context(), head); err != nil {
		return nil, err
	}
	b, err := d.Batch(1, 2)
	if err != nil {
		return nil, err
	}
	b.Hi[0] = 2
	for i := range b.Tokens {
		b.Tokens[i], b.Attention[i], b.Active[i] = 2, 1, 1
	}
	return d.Run(t.Context())
}

func TestAnswers(t *testing.T) {
	st, err := asked(t, trace(t, sampling.Needs{P1: true, Proposal: true}))
	if err != nil || st.Failed[0] != nil {
		t.Fatal(err, st)
	}
	if st.Proposal[1] != 1 || st.P1[0] != 0.5 || st.P1[1] != 0.25 {
		t.Errorf("answered %v %v, expected what was recorded", st.Proposal, st.P1)
	}
}

// A question without what its planner needed is refused when the file is read.
func TestLackingStatistics(t *testing.T) {
	_, err := asked(t, trace(t, sampling.Needs{Proposal: true}))
	if err == nil || !strings.Contains(err.Error(), "line 3: row 0: the question lacks p1, which its planner needed; record it anew") {
		t.Errorf("error %v, expected the line and p1", err)
	}
}

// FuzzOpen: whatever a file holds, it is refused or answers.
func FuzzOpen(f *testing.F) {
	f.Add(trace(f, sampling.Needs{P1: true, Proposal: true}))
	f.Add(trace(f, sampling.Needs{Proposal: true}))
	f.Add("{}")
	f.Fuzz(func(t *testing.T, text string) {
		st, err := asked(t, text)
		if (st == nil) == (err == nil) {
			t.Errorf("statistics %v with error %v", st, err)
		}
	})
}

// TestCloseMeanwhile: a denoiser may be closed while it is asked, as all may. The race detector sees where it may not.
func TestCloseMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(name, []byte(trace(t, sampling.Needs{P1: true, Proposal: true})), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := replay.Open(name, replay.Model{Name: "m", MaskID: 2, V: 3}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Configure(t.Context(), sampling.Head{Needs: d.Capabilities().Serves}); err != nil {
		t.Fatal(err)
	}
	asked, ended := make(chan bool), make(chan error)
	go func() {
		_, err := d.Batch(1, 2)
		close(asked)
		for err == nil {
			if _, err = d.Run(t.Context()); err == nil {
				_, err = d.Batch(1, 2)
			}
		}
		ended <- err
	}()
	<-asked
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !strings.Contains(err.Error(), "it was closed") {
		t.Errorf("a closed denoiser says %q", err)
	}
}
