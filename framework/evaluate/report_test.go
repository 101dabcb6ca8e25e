package evaluate_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/evaluate"
)

func report() *evaluate.Report {
	rows := []evaluate.Row{{Nats: 10, Tokens: 4, Characters: 9}, {Nats: 12, Tokens: 4, Characters: 11}}
	finite := 12.5
	return &evaluate.Report{
		Model: "runs/x/model", Trainer: "md4", TrainerOptions: map[string]any{"schedule": "cosine", "eps": 1e-4}, Bound: evaluate.NewBound("bound", rows),
		Available: 5, Draws: 3, Metrics: map[string]float64{"ce": 1.5, "accuracy": 0.25}, Seed: 7, Runtime: "onnx/cpu, 1 thread", Seconds: 1.25, Notes: []string{"a note"},
		Exact: &evaluate.ExactReport{Bound: evaluate.NewBound("bound", rows), LogLikelihood: evaluate.Measure{Value: -10.5, Error: 1}, BitsPerToken: evaluate.Measure{Value: 3.8, Error: 0.4},
			Finite: &evaluate.Finite{T: 8, Schedule: "cosine", Bound: evaluate.NewBound("bound", rows)}, Rows: []evaluate.ExactRow{{Bound: 10, LogLikelihood: -9.5, Finite: &finite, Tokens: 4}}},
		Accuracy: &evaluate.Accuracy{Cells: evaluate.Measure{Value: 0.9, Error: 0.02}, Rows: evaluate.Measure{Value: 0.5, Error: 0.1}, FreeCells: 8, Asked: 2, NFE: 3.5, Planner: "eb gamma=0.1", Sampler: "masked"},
	}
}

// The words for people are those of testdata/report.golden.
func TestReportInWords(t *testing.T) {
	var b strings.Builder
	if err := report().Write(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "report.golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// Programs read these keys.
func TestKeysOfReports(t *testing.T) {
	text, err := json.Marshal(report())
	if err != nil {
		t.Fatal(err)
	}
	keys := func(raw json.RawMessage) string {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(object)), " ")
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]string{
		"":         "accuracy bound draws exact metrics model notes rows_available runtime seconds seed trainer trainer_options",
		"bound":    "bits_per_character bits_per_dimension bits_per_token characters kind nats_per_row rows tokens",
		"exact":    "bits_per_token bound finite log_likelihood rows",
		"accuracy": "asked cells free_cells nfe planner rows sampler",
	} {
		raw := json.RawMessage(text)
		if part != "" {
			raw = top[part]
		}
		if got := keys(raw); got != want {
			t.Errorf("%s has the keys %s, want %s", part, got, want)
		}
	}
}
