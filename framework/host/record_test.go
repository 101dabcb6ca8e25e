package host_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// record samples four sudokus and returns the trace with what the planner was asked.
func record(t *testing.T, planner string, inProcess bool) []byte {
	t.Helper()
	cfg, err := config.Load(config.Sources{Flags: []config.Assignment{{Key: "model", Value: "sudoku"}, {Key: "planner.name", Value: planner},
		{Key: "seed", Value: "7"}, {Key: "num", Value: "4"}, {Key: "batch", Value: "3"}}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: inProcess})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, _, err := results.Requests(h.Model(), h.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	trace := sampling.NewTrace(&out, sampling.TraceHeader{})
	if err := h.Record(trace.Call); err != nil {
		t.Fatal(err)
	}
	next := 0
	if _, err := h.Sample(t.Context(), len(rows), func() (sampling.Request, bool) {
		if next++; next > len(rows) {
			return sampling.Request{}, false
		}
		return rows[next-1], true
	}, func(r sampling.Result) error { return r.Err }, trace); err != nil {
		t.Fatal(err)
	}
	if err := trace.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestARecordingIsReplayed: whatever the planner decided, in process or out of it, it decides again when it is asked what the
// recording has of the questions, without a model.
func TestARecordingIsReplayed(t *testing.T) {
	for _, name := range []string{"eb", "remdm"} {
		var traces [2][]byte
		for i, inProcess := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in process %v", name, inProcess), func(t *testing.T) {
				traces[i] = record(t, name, inProcess)
				recording, err := plugintest.ReadRecording(bytes.NewReader(traces[i]))
				if err != nil {
					t.Fatal(err)
				}
				if len(recording.Runs) != 1 || recording.Planner != name || len(recording.Runs[0].Steps) < 5 {
					t.Fatalf("the recording has %d runs of planner %s", len(recording.Runs), recording.Planner)
				}
				replayed(t, planners.All()[name](), recording.Runs[0])
			})
		}
		if !bytes.Equal(traces[0], traces[1]) {
			t.Errorf("%s: what is recorded in process and out of it differs", name)
		}
	}
}

func replayed(t *testing.T, planner sampling.Planner, run plugintest.RecordedRun) {
	t.Helper()
	needs, err := planner.Start(t.Context(), run.Run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run.Needs.String(), needs.String()); diff != "" {
		t.Error(diff)
	}
	var decoder wire.Decoder
	for _, s := range run.Steps {
		step, err := decoder.Decode(s.Step)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]sampling.Decision, len(step.Rows))
		if err := planner.Plan(t.Context(), step, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.Answers, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("line %d: %s", s.Line, diff)
		}
	}
}
