package openvino_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

var peaks = sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}, Suppress: []int32{0}}

// tried opens and configures a model, and returns the first error.
func tried(t *testing.T, m openvino.Model, o openvino.Options, h sampling.Head) error {
	t.Helper()
	d, err := openvino.Open(t.Context(), m, o)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Configure(t.Context(), h)
}

func contains(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(fmt.Sprint(err), w) {
			t.Errorf("error %v, expected %q in it", err, w)
		}
	}
}

func TestMissingLibrary(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", empty)
	const install = "run `mdmhost runtime install openvino`"
	t.Setenv(openvino.LibraryVariable, "")
	if _, err := openvino.FindLibrary(""); err == nil {
		t.Error("a library was found in an empty cache")
	} else {
		contains(t, err, "OpenVINO: no libopenvino_c.so in "+empty, install, openvino.LibraryVariable)
	}
	for path, want := range map[string][]string{
		filepath.Join(empty, "nothing.so"): {"runtime.library", "nothing.so: no such file or directory", install},
		empty:                              {"runtime.library: " + empty + " holds no libopenvino_c.so", install},
	} {
		_, err := openvino.FindLibrary(path)
		contains(t, err, want...)
	}
	t.Setenv(openvino.LibraryVariable, filepath.Join(empty, "gone"))
	_, err := openvino.FindLibrary("")
	contains(t, err, openvino.LibraryVariable, "no such file or directory", install)
}

func TestRefusals(t *testing.T) {
	needOpenVINO(t)
	small := tableModel([]float32{1, 2, 3}, 3)
	unknown := tableModel([]float32{1, 2, 3}, 3, func(m *graph.Model) {
		m.Opsets = append(m.Opsets, graph.Opset{Domain: "com.example", Version: 1})
		m.Graph.Nodes[0].Outputs[0] = "hidden"
		m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Op: "Mystery", Domain: "com.example", Inputs: []string{"hidden"}, Outputs: []string{"logits"}})
	})
	old := tableModel([]float32{1, 2, 3}, 3, func(m *graph.Model) { m.Opsets[0].Version = 15 })
	for _, c := range []struct {
		name string
		m    openvino.Model
		o    openvino.Options
		h    sampling.Head
		want []string
	}{
		{"operator", unknown, openvino.Options{}, peaks, []string{"model table: OpenVINO 20", "refuses it (provider cpu, head go)", "com.example.Mystery", "use runtime onnx, or export the model anew"}},
		{"opset", old, openvino.Options{Head: "graph"}, peaks, []string{`head "graph" needs opset 17 or newer, the model has 15`, `use head "go"`}},
		{"fused", small, openvino.Options{Head: "fused"}, peaks, []string{`head "fused" is none of runtime openvino; use "go" or "graph"`}},
		{"device", small, openvino.Options{Provider: "npu"}, peaks, []string{"provider npu: OpenVINO finds no such device (its devices: CPU)", "use provider cpu or auto"}},
		{"provider", small, openvino.Options{Provider: "cuda"}, peaks, []string{`provider "cuda" is none of runtime openvino; use cpu, gpu, npu or auto`}},
		{"property", small, openvino.Options{Properties: map[string]string{"INFERENCE_PRECISION_HNT": "bf16"}}, peaks, []string{"runtime.provider_options: INFERENCE_PRECISION_HNT is no property of provider cpu; did you mean INFERENCE_PRECISION_HINT?"}},
		{"value", small, openvino.Options{Properties: map[string]string{"INFERENCE_PRECISION_HINT": "f31"}}, peaks, []string{"model table: OpenVINO", "f31"}},
		{"threads", small, openvino.Options{Threads: -1}, peaks, []string{"runtime: threads -1"}},
		{"needs", small, openvino.Options{}, sampling.Head{Needs: sampling.Needs{PlannerScore: true}}, []string{"needs planner_score: runtime openvino (provider cpu) runs one network, the denoiser"}},
		{"damaged", openvino.Model{Name: "damaged", Data: small.Data[:20]}, openvino.Options{}, peaks, []string{"model damaged: "}},
	} {
		err := tried(t, c.m, c.o, c.h)
		contains(t, err, c.want...)
		if len(fmt.Sprint(err)) > 800 || strings.Contains(fmt.Sprint(err), ".cpp:") {
			t.Errorf("%s: expected a short message without places in a source, found %v", c.name, err)
		}
	}
	d, err := openvino.Open(t.Context(), small, openvino.Options{Provider: "auto"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Capabilities().Provider != "cpu" || len(d.Notes()) != 1 || !strings.Contains(d.Notes()[0], "runs on the CPU, because OpenVINO finds no GPU") {
		t.Errorf("provider %s with notes %q, expected cpu with the reason", d.Capabilities().Provider, d.Notes())
	}
}

// Logits that are no distribution are told.
func TestFaultyLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	d := open(t, tableModel([]float32{5, 1, 2, 0, nan, 1, 9, inf, inf}, 3), openvino.Options{}, peaks)
	batchOf(t, d, 1, 3)
	if got, want := runOf(t, d).Proposal, []int32{2, sampling.FaultNaN, sampling.FaultSuppressed}; !slices.Equal(got, want) {
		t.Errorf("proposals %v, expected %v", got, want)
	}
}

// A pass that cannot run is an error, and the next one runs.
func TestFailedPass(t *testing.T) {
	three := tableModel([]float32{5, 1, 2, 5, 2, 1, 5, 1, 2}, 3, func(m *graph.Model) { // rows of three positions alone
		m.Graph.Nodes[0].Outputs[0] = "row"
		m.Graph.Nodes = append(m.Graph.Nodes, &graph.Node{Op: "Add", Inputs: []string{"row", "bias"}, Outputs: []string{"logits"}})
		m.Graph.Initializers = append(m.Graph.Initializers, graph.OfFloats("bias", []int64{3, 1}, []float32{1, 2, 3}))
	})
	d := open(t, three, openvino.Options{}, peaks)
	for _, rows := range []int{1, 2} {
		batchOf(t, d, rows, 3)
		runOf(t, d)
		batchOf(t, d, rows, 2)
		_, err := d.Run(t.Context())
		contains(t, err, fmt.Sprintf("model table: a pass of %d rows x 2 positions failed: ", rows), "compare token ids and lengths with config.json")
		b := batchOf(t, d, rows, 3)
		for i := range b.Tokens {
			b.Tokens[i] = 0
		}
		if got := runOf(t, d).Proposal; !slices.Equal(got[:3], []int32{2, 1, 2}) {
			t.Errorf("proposals %v after a failed pass, expected 2, 1, 2", got)
		}
	}
}

// A cancelled context ends a pass on its way, Close too, and a pass after a cancelled one gives what it gave before.
func TestCancel(t *testing.T) {
	needOpenVINO(t)
	m, manifest := embedded(t, "text")
	d := open(t, m, openvino.Options{}, sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}, Suppress: manifest.Suppress()})
	before := func() []float32 {
		b := batchOf(t, d, 1, 16)
		states(b, 1, m)
		return slices.Clone(runOf(t, d).P1)
	}
	want := before()
	ended := 0
	for range 5 {
		b := batchOf(t, d, 64, 128)
		states(b, 2, m)
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := d.Run(ctx); errors.Is(err, context.Canceled) {
			ended++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if ended == 0 {
		t.Error("no pass of 64 rows was ended by a context that ends at once")
	}
	if got := before(); !slices.Equal(got, want) {
		t.Errorf("after cancelled passes %v, expected %v", got, want)
	}
	b := batchOf(t, d, 64, 128)
	states(b, 2, m)
	closed := make(chan error)
	go func() { closed <- d.Close() }()
	if _, err := d.Run(t.Context()); err != nil {
		contains(t, err, "model text: it was closed")
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_, err := d.Run(t.Context())
	contains(t, err, "model text: it was closed")
	_, err = d.Batch(1, 1)
	contains(t, err, "model text: it was closed")
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestOrderOfCalls(t *testing.T) {
	needOpenVINO(t)
	d, err := openvino.Open(t.Context(), tableModel([]float32{5, 1, 2}, 3), openvino.Options{Warmup: false})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Batch(1, 1)
	contains(t, err, "model table: Batch before Configure")
	_, err = d.Run(t.Context())
	contains(t, err, "model table: Run before Batch")
	if err := d.Configure(t.Context(), peaks); err != nil {
		t.Fatal(err)
	}
	contains(t, d.Configure(t.Context(), peaks), "Configure was called before")
	_, err = d.Batch(0, 1)
	contains(t, err, "a batch of 0 rows x 1 positions; give at least 1 of each")
}
