package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/plugintest"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// task is what the host would say of a model of 20 tokens, the last of which is the mask, that takes the time.
func task(options string) spec.Task {
	return spec.Task{Options: []byte(options), V: 20, MaskID: 19, PadID: -1, Suppressed: []int64{19}, Opset: graph.DefaultOpset, Denoiser: graph.Signature{
		Inputs: []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("B", "L")},
			{Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("B")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("B", "L", 20)}},
	}}
}

// TestBuild writes the graphs as the host has them written; the kit checks them as the host does.
func TestBuild(t *testing.T) {
	focal := sdk.NewTrainer("focal", Define)
	for options, detached := range map[string]bool{`{}`: false, `{"gamma": 0.5, "detach": true}`: true} {
		reply, err := focal.Build(t.Context(), task(options))
		if err != nil {
			t.Fatal(err)
		}
		m, err := graph.Decode(reply.Training)
		if err != nil {
			t.Fatal(err)
		}
		stops := slices.ContainsFunc(m.Graph.Nodes, func(n *graph.Node) bool { return graph.Key(n) == "mdm.StopGradient" })
		if stops != detached {
			t.Errorf("%s: a stop of gradients is there: %v, want %v", options, stops, detached)
		}
		var outputs []string
		for _, o := range m.Graph.Outputs {
			outputs = append(outputs, o.Name)
		}
		want := []string{"loss", "metric.nll.sum", "metric.nll.count", "metric.weight.sum", "metric.weight.count"}
		if !slices.Equal(outputs, want) {
			t.Errorf("%s: outputs %q, want %q", options, outputs, want)
		}
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	_, err := sdk.NewTrainer("focal", Define).Build(t.Context(), task(`{"gamma": -1}`))
	if err == nil || !strings.HasPrefix(err.Error(), "trainer focal: INVALID_CONFIG: option gamma: ") {
		t.Error(err)
	}
}

// TestContract checks the trainer as `mdmhost plugin check` does: for many models, without a run.
func TestContract(t *testing.T) {
	plugintest.RunTrainer(t, func() spec.Trainer { return sdk.NewTrainer("focal", Define) })
}
