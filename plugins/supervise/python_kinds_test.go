package supervise_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
)

func TestASamplerInPython(t *testing.T) {
	spec := inPython(t, "masked")
	spec.Kind = sampling.KindSampler
	p, err := launch(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampler()
	if needs, err := s.Start(context.Background(), sampling.Run{}); err != nil || needs.String() != "p1" {
		t.Fatal(needs, err)
	}
	for range 2 { // a process serves one session after the other
		r := &recorder{}
		if err := s.Sample(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		want := []any{
			[]sampling.Decision{{Open: []int32{1}, Remask: []int32{1}, NextT: .5}, {Open: []int32{1}, NextT: .5}},
			[]sampling.Advance{{Slot: 3, T: 1, S: .5, AlphaS: .5}, {Slot: 1, T: 1, S: .5, AlphaS: .5}},
			[]int{3, 1},
		}
		if diff := cmp.Diff(want, r.asked); diff != "" {
			t.Fatal(diff)
		}
	}
	refused := &sampling.Error{Code: sampling.Crashed, Object: "planner x", Problem: "it is gone"}
	if err := s.Sample(context.Background(), &recorder{advErr: refused}); err != error(refused) {
		t.Fatalf("error %v, want the session's own", err)
	}
}

func TestASamplerInPythonHangs(t *testing.T) {
	spec := inPython(t, "sampler-hangs")
	spec.Kind, spec.Deadlines.Call = sampling.KindSampler, time.Second
	p, err := launch(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampler()
	if _, err := s.Start(context.Background(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	check(t, s.Sample(context.Background(), &recorder{}), sampling.Timeout, "sampler sampler-hangs: TIMEOUT: no answer to Sample within 1s; *")
}

// TestATrainerInPython: the graphs of a trainer whose ONNX is written without any package pass the host's checks.
func TestATrainerInPython(t *testing.T) {
	s := python(t, "trainer.py", "")
	s.Kind, s.Name = sampling.KindTrainer, "scaled"
	p, err := launch(t, s)
	if err != nil {
		t.Fatal(err)
	}
	task := spec.Task{V: 20, MaskID: 19, PadID: -1, Suppressed: []int64{19}, Opset: graph.DefaultOpset, Denoiser: graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("B", "L")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: graph.Dims("B", "L", 20)}},
	}}
	task.Options = []byte(`{"scale": 2}`)
	reply, err := p.Trainer().Build(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Summary != "scaled by 2.0" || len(reply.Spec.Inputs) != 2 || reply.Spec.Networks[0].Signature.Outputs[0].Name != "logits" {
		t.Errorf("reply %+v", reply.Spec)
	}
	task.Options = []byte(`{"scale": -2}`)
	_, err = p.Trainer().Build(context.Background(), task)
	check(t, err, sampling.InvalidConfig, "trainer scaled: INVALID_CONFIG: option scale: expected a number of at least 0, found -2; *")
}

// TestPythonWithCertificates: where the package cryptography is, planners and samplers prove who they are; else the start says what is
// missing.
func TestPythonWithCertificates(t *testing.T) {
	spec := inPython(t, "calm")
	spec.MTLS = true
	if exec.Command(spec.Path, "-c", "import cryptography").Run() != nil {
		_, err := launch(t, spec)
		check(t, err, sampling.Crashed, "planner calm: CRASHED: it exited with status 1 before the handshake; its log says: plugin: INVALID_CONFIG: the host asks for certificates (plugins.mtls), which need the package cryptography: *pip install 'mdmhost-plugin[mtls]', or set plugins.mtls=false; *")
		return
	}
	_, planner := started(t, spec)
	if out, err := plan(planner, step()); err != nil || len(out[0].Open) != 1 {
		t.Fatal(out, err)
	}
	spec = inPython(t, "masked")
	spec.Kind, spec.MTLS = sampling.KindSampler, true
	p, err := launch(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampler()
	if _, err := s.Start(context.Background(), sampling.Run{}); err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	if err := s.Sample(context.Background(), r); err != nil || len(r.asked) != 3 {
		t.Fatal(r.asked, err)
	}
}
