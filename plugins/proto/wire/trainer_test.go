package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// through sends a message over the wire and back.
func through[M proto.Message](t *testing.T, m, into M) M {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestTasksAndRepliesSurviveTheWire(t *testing.T) {
	denoiser := graph.Signature{
		Inputs:  []graph.Port{{Name: "input_ids", Type: graph.Int64, Shape: graph.Dims("batch", 81)}, {Name: "timesteps", Type: graph.Float32, Shape: graph.Dims("batch")}},
		Outputs: []graph.Port{{Name: "logits", Type: graph.Float32, Shape: []graph.Dim{graph.Named("batch"), graph.Known(81), {Size: -1}}}},
	}
	task := spec.Task{Options: []byte(`{"alpha":1}`), V: 12, MaskID: 11, PadID: -1, Suppressed: []int64{10, 11}, Rows: 4, Length: 81, Denoiser: denoiser, Opset: 20}
	if diff := cmp.Diff(task, wire.TaskFromProto(through(t, wire.TaskToProto(&task), &pb.BuildRequest{}))); diff != "" {
		t.Error(diff)
	}
	reply := &spec.Reply{
		Spec: spec.Spec{
			Networks: []spec.Network{{Name: "denoiser", Signature: denoiser, Frozen: true}, {Name: "planner", Signature: denoiser, Init: "denoiser", ShareWith: "denoiser"}},
			Params:   []spec.Param{{Name: "w", Shape: []int64{12}, Init: spec.Init{Kind: "normal", Value: 1, Scale: .5}}, {Name: "scalar"}},
			Groups:   []spec.Group{{Match: "planner.*", LR: .1, Decay: 0}},
			Inputs: []spec.Input{{Name: "t", Kind: spec.Time, Shape: graph.Dims("B", 1), Sampler: diffusion.Stratified, Eps: 1e-3},
				{Name: "u", Kind: spec.Uniform, Shape: graph.Dims("B", "L", 2)}, {Name: "progress", Kind: spec.Progress}},
			Bound: spec.PathBound,
		},
		Training: []byte{1, 2}, Eval: []byte{3}, Summary: "a test", Schedule: diffusion.Spec{Kind: "geometric", C: 1, BMin: 2, BMax: 3, A: 4, B: 5, Eps: 6},
	}
	if diff := cmp.Diff(reply, wire.ReplyFromProto(through(t, wire.ReplyToProto(reply), &pb.BuildReply{}))); diff != "" {
		t.Error(diff)
	}
}
