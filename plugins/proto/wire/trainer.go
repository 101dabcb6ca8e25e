package wire

import (
	"strconv"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// TaskToProto translates a trainer's task.
func TaskToProto(t *spec.Task) *pb.BuildRequest {
	return &pb.BuildRequest{
		Options: t.Options, V: int32(t.V), MaskId: t.MaskID, PadId: t.PadID, Suppressed: t.Suppressed, Rows: int32(t.Rows), Length: int32(t.Length),
		Denoiser: signatureToProto(t.Denoiser), Opset: int32(t.Opset),
	}
}

// TaskFromProto translates a task back.
func TaskFromProto(m *pb.BuildRequest) spec.Task {
	return spec.Task{
		Options: m.GetOptions(), V: int(m.GetV()), MaskID: m.GetMaskId(), PadID: m.GetPadId(), Suppressed: m.GetSuppressed(), Rows: int(m.GetRows()),
		Length: int(m.GetLength()), Denoiser: signatureFromProto(m.GetDenoiser()), Opset: int64(m.GetOpset()),
	}
}

// ReplyToProto translates a trainer's reply.
func ReplyToProto(r *spec.Reply) *pb.BuildReply {
	s := r.Schedule
	out := &pb.BuildReply{
		Bound: string(r.Spec.Bound), TrainingGraph: r.Training, EvalGraph: r.Eval, Summary: r.Summary,
		Schedule: &pb.Schedule{Kind: s.Kind, C: s.C, BMin: s.BMin, BMax: s.BMax, A: s.A, B: s.B, Eps: s.Eps},
	}
	for _, n := range r.Spec.Networks {
		out.Networks = append(out.Networks, &pb.Network{Name: n.Name, Signature: signatureToProto(n.Signature), Init: n.Init, Frozen: n.Frozen, ShareWith: n.ShareWith})
	}
	for _, p := range r.Spec.Params {
		out.Params = append(out.Params, &pb.Param{Name: p.Name, Shape: p.Shape, Init: p.Init.Kind, Value: p.Init.Value, Scale: p.Init.Scale})
	}
	for _, g := range r.Spec.Groups {
		out.Groups = append(out.Groups, &pb.Group{Match: g.Match, Lr: g.LR, Decay: g.Decay})
	}
	for _, in := range r.Spec.Inputs {
		out.Inputs = append(out.Inputs, &pb.TrainerInput{Name: in.Name, Kind: string(in.Kind), Shape: shapeToProto(in.Shape), Sampler: string(in.Sampler), Eps: in.Eps})
	}
	return out
}

// ReplyFromProto translates a reply back. What it says is not checked here; see [spec.Check].
func ReplyFromProto(m *pb.BuildReply) *spec.Reply {
	s := m.GetSchedule()
	out := &spec.Reply{
		Spec: spec.Spec{Bound: spec.BoundKind(m.GetBound())}, Training: m.GetTrainingGraph(), Eval: m.GetEvalGraph(), Summary: m.GetSummary(),
		Schedule: diffusion.Spec{Kind: s.GetKind(), C: s.GetC(), BMin: s.GetBMin(), BMax: s.GetBMax(), A: s.GetA(), B: s.GetB(), Eps: s.GetEps()},
	}
	for _, n := range m.GetNetworks() {
		out.Spec.Networks = append(out.Spec.Networks, spec.Network{Name: n.GetName(), Signature: signatureFromProto(n.GetSignature()), Init: n.GetInit(),
			Frozen: n.GetFrozen(), ShareWith: n.GetShareWith()})
	}
	for _, p := range m.GetParams() {
		out.Spec.Params = append(out.Spec.Params, spec.Param{Name: p.GetName(), Shape: p.GetShape(), Init: spec.Init{Kind: p.GetInit(), Value: p.GetValue(), Scale: p.GetScale()}})
	}
	for _, g := range m.GetGroups() {
		out.Spec.Groups = append(out.Spec.Groups, spec.Group{Match: g.GetMatch(), LR: g.GetLr(), Decay: g.GetDecay()})
	}
	for _, in := range m.GetInputs() {
		out.Spec.Inputs = append(out.Spec.Inputs, spec.Input{Name: in.GetName(), Kind: spec.Kind(in.GetKind()), Shape: shapeFromProto(in.GetShape()),
			Sampler: diffusion.TimeSampler(in.GetSampler()), Eps: in.GetEps()})
	}
	return out
}

func signatureToProto(s graph.Signature) *pb.Signature {
	return &pb.Signature{Inputs: portsToProto(s.Inputs), Outputs: portsToProto(s.Outputs)}
}

func portsToProto(ports []graph.Port) []*pb.Port {
	var out []*pb.Port
	for _, p := range ports {
		out = append(out, &pb.Port{Name: p.Name, Type: int32(p.Type), Shape: shapeToProto(p.Shape)})
	}
	return out
}

func signatureFromProto(m *pb.Signature) graph.Signature {
	return graph.Signature{Inputs: portsFromProto(m.GetInputs()), Outputs: portsFromProto(m.GetOutputs())}
}

func portsFromProto(ports []*pb.Port) []graph.Port {
	var out []graph.Port
	for _, p := range ports {
		out = append(out, graph.Port{Name: p.GetName(), Type: graph.Type(p.GetType()), Shape: shapeFromProto(p.GetShape())})
	}
	return out
}

// shapeToProto writes sizes as numbers, names as they are, and nothing for what is not known.
func shapeToProto(shape []graph.Dim) []string {
	var out []string
	for _, d := range shape {
		switch {
		case d.IsKnown():
			out = append(out, strconv.FormatInt(d.Size, 10))
		default:
			out = append(out, d.Name)
		}
	}
	return out
}

func shapeFromProto(shape []string) []graph.Dim {
	var out []graph.Dim
	for _, text := range shape {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			out = append(out, graph.Known(n))
		} else {
			out = append(out, graph.Named(text))
		}
	}
	return out
}
