package wire

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// NeedsToProto translates needs.
func NeedsToProto(n sampling.Needs) *pb.Needs {
	out := &pb.Needs{
		Proposal: n.Proposal, LogpProposal: pb.On(n.LogpProposal), P1: n.P1, P2: n.P2, PeaksOn: pb.On(n.PeaksOn), Entropy: pb.On(n.Entropy), LogpCurrent: n.LogpCurrent,
		KlPrev: n.KLPrev, PlannerScore: n.PlannerScore, Uniform: n.Uniform, Gumbel: n.Gumbel, Topk: int32(n.TopK),
		InsertionRate: n.InsertionRate, UnmaskRate: n.UnmaskRate, FrozenGap: n.FrozenGap, LogpLeaveOneOut: n.LogpLeaveOneOut, Logits: n.Logits,
	}
	for _, c := range n.VocabDot {
		out.VocabDot = append(out.VocabDot, sampling.Bytes(c))
	}
	return out
}

// NeedsFromProto translates needs back and refuses what no host could serve.
func NeedsFromProto(n *pb.Needs) (sampling.Needs, error) {
	out := sampling.Needs{
		Proposal: n.GetProposal(), LogpProposal: sampling.On(n.GetLogpProposal()), P1: n.GetP1(), P2: n.GetP2(), PeaksOn: sampling.On(n.GetPeaksOn()),
		Entropy: sampling.On(n.GetEntropy()), LogpCurrent: n.GetLogpCurrent(), KLPrev: n.GetKlPrev(), PlannerScore: n.GetPlannerScore(), Uniform: n.GetUniform(), Gumbel: n.GetGumbel(),
		TopK: int(n.GetTopk()), InsertionRate: n.GetInsertionRate(), UnmaskRate: n.GetUnmaskRate(), FrozenGap: n.GetFrozenGap(),
		LogpLeaveOneOut: n.GetLogpLeaveOneOut(), Logits: n.GetLogits(),
	}
	if on := n.GetLogpProposal(); on < pb.On_ON_NOT_NEEDED || on > pb.On_ON_NOISED {
		return out, violation("needs: logp_proposal is of on=%d, expected model, sampling, tempered or noised", on)
	}
	if on := n.GetPeaksOn(); on < pb.On_ON_NOT_NEEDED || on > pb.On_ON_TEMPERED {
		return out, violation("needs: peaks_on is on=%d, expected model, sampling or tempered", on)
	}
	if on := n.GetEntropy(); on != pb.On_ON_NOT_NEEDED && on != pb.On_ON_MODEL && on != pb.On_ON_SAMPLING {
		return out, violation("needs: entropy is of on=%d, expected model or sampling", on)
	}
	if out.TopK < 0 {
		return out, violation("needs: topk is %d, expected at least 0", out.TopK)
	}
	for i, c := range n.GetVocabDot() {
		if len(c)%4 != 0 {
			return out, violation("needs: vocab_dot vector %d has %d bytes, expected float32 numbers", i, len(c))
		}
		out.VocabDot = append(out.VocabDot, view[float32](c))
	}
	return out, nil
}
