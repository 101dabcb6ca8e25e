package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
)

// task is what the host would say of a model of 20 tokens, the last of which is the mask, that takes the time.
func task(options string) spec.Task {
	return spec.Task{Options: []byte(options), V: 20, MaskID: 19, PadID: -1, Suppressed: []int64{19}, Opset: graph.DefaultOpset, Denoiser: graph.Signature{
		Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("B", "L")},
			{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("B")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("B", "L", 20)}},
	}}
}

// The graphs are written and checked as in a run, without a model.
func TestBuild(t *testing.T) {
	reply, err := New().Build(t.Context(), task(`{"power": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := graph.Decode(reply.Training)
	if err != nil {
		t.Fatal(err)
	}
	var outputs []string
	for _, o := range m.Graph.Outputs {
		outputs = append(outputs, o.Name)
	}
	want := []string{"loss", "metric.nll.sum", "metric.nll.count", "metric.ce.sum", "metric.ce.count"}
	if !slices.Equal(outputs, want) {
		t.Errorf("outputs %q, want %q", outputs, want)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	_, err := New().Build(t.Context(), task(`{"power": 0}`))
	if err == nil || !strings.HasPrefix(err.Error(), "trainer my-trainer: INVALID_CONFIG: option power: ") {
		t.Error(err)
	}
}

// What every trainer must do: see `mdmhost plugin check`.
func TestConformance(t *testing.T) { plugintest.RunTrainer(t, New) }
