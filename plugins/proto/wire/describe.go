package wire

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// DescriptionToProto translates what a plugin says of itself. pure tells that its decisions depend on the step alone.
func DescriptionToProto(d sampling.Description, pure bool) *pb.DescribeReply {
	return &pb.DescribeReply{
		Kind: string(d.Kind), Name: d.Name, Version: d.Version, Summary: d.Summary, Needs: NeedsToProto(d.Needs), OptionsSchema: d.OptionsSchema,
		CanRemask: d.CanRemask, CanInsert: d.CanInsert, Adaptive: d.Adaptive, Pure: pure,
	}
}

// DescriptionFromProto translates a description back.
func DescriptionFromProto(d *pb.DescribeReply) (sampling.Description, error) {
	needs, err := NeedsFromProto(d.GetNeeds())
	if err != nil {
		return sampling.Description{}, err
	}
	if d.GetName() == "" {
		return sampling.Description{}, violation("description: the name is empty, expected one")
	}
	return sampling.Description{
		Kind: sampling.Kind(d.GetKind()), Name: d.GetName(), Version: d.GetVersion(), Summary: d.GetSummary(), Needs: needs,
		OptionsSchema: d.GetOptionsSchema(), CanRemask: d.GetCanRemask(), CanInsert: d.GetCanInsert(), Adaptive: d.GetAdaptive(),
	}, nil
}

// RunToProto translates a run.
func RunToProto(r sampling.Run) *pb.StartRequest {
	c := r.Capabilities
	m := &pb.StartRequest{
		Run: r.ID, Options: r.Options, MaskId: r.MaskID, V: int32(r.V), Temperature: r.Temperature, KeepsWritten: r.KeepsWritten,
		Exponents: sampling.Bytes(r.Exponents),
		Capabilities: &pb.Capabilities{
			Serves: NeedsToProto(c.Serves), VocabDots: int32(c.VocabDots), State: c.State, MaxRows: int32(c.MaxRows), FixedRows: int32(c.FixedRows),
			MaxLength: int32(c.MaxLength), FixedLength: int32(c.FixedLength), Padding: c.Padding, V: int32(c.V), Runtime: c.Runtime, Provider: c.Provider,
		},
	}
	if g := r.Insertion; g != nil {
		m.Insertion = &pb.Insertion{Gap: g.Gap, Cap: int32(g.Cap), A: g.A}
	}
	return m
}

// RunFromProto translates a run back.
func RunFromProto(r *pb.StartRequest) (sampling.Run, error) {
	c := r.GetCapabilities()
	serves, err := NeedsFromProto(c.GetServes())
	if n := len(r.GetExponents()); err == nil && n%4 != 0 {
		err = violation("start: the exponents have %d bytes, expected float32 for every token", n)
	}
	var growth *sampling.Growth
	if g := r.GetInsertion(); g != nil {
		growth = &sampling.Growth{Gap: g.GetGap(), Cap: int(g.GetCap()), A: g.GetA()}
	}
	return sampling.Run{
		ID: r.GetRun(), Options: r.GetOptions(), MaskID: r.GetMaskId(), V: int(r.GetV()), Temperature: r.GetTemperature(), KeepsWritten: r.GetKeepsWritten(), Insertion: growth,
		Exponents: slices.Clone(view[float32](r.GetExponents())),
		Capabilities: sampling.Capabilities{
			Serves: serves, VocabDots: int(c.GetVocabDots()), State: c.GetState(), MaxRows: int(c.GetMaxRows()), FixedRows: int(c.GetFixedRows()),
			MaxLength: int(c.GetMaxLength()), FixedLength: int(c.GetFixedLength()), Padding: c.GetPadding(), V: int(c.GetV()),
			Runtime: c.GetRuntime(), Provider: c.GetProvider(),
		},
	}, err
}
