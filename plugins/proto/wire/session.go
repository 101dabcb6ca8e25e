package wire

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// RowsToProto translates what a sampler learns of its rows.
func RowsToProto(rows []sampling.RowState) *pb.RowStates {
	values, out := make([]pb.RowState, len(rows)), make([]*pb.RowState, len(rows))
	for i, r := range rows {
		m := &values[i]
		m.Slot, m.Index, m.Step, m.Steps = int32(r.Slot), r.Index, int32(r.Step), int32(r.Steps)
		m.Blanks, m.Masked, m.Length, m.NextT, m.Done = int32(r.Blanks), int32(r.Masked), int32(r.Length), r.NextT, r.Done
		m.Room = int32(r.Room)
		out[i] = m
	}
	return &pb.RowStates{Rows: out}
}

// RowsFromProto translates rows back into the memory of out.
func RowsFromProto(m *pb.RowStates, out []sampling.RowState) []sampling.RowState {
	out = out[:0]
	for _, r := range m.GetRows() {
		out = append(out, sampling.RowState{
			Slot: int(r.GetSlot()), Index: r.GetIndex(), Step: int(r.GetStep()), Steps: int(r.GetSteps()),
			Blanks: int(r.GetBlanks()), Masked: int(r.GetMasked()), Length: int(r.GetLength()), NextT: r.GetNextT(), Done: r.GetDone(), Room: int(r.GetRoom()),
		})
	}
	return out
}

// AdvanceToProto translates the steps that a sampler asks for.
func AdvanceToProto(rows []sampling.Advance) *pb.AdvanceRequest {
	values, out := make([]pb.Advance, len(rows)), make([]*pb.Advance, len(rows))
	for i, r := range rows {
		m := &values[i]
		m.Slot, m.T, m.S, m.AlphaT, m.AlphaS = int32(r.Slot), r.T, r.S, r.AlphaT, r.AlphaS
		for _, at := range r.Ahead {
			m.Ahead = append(m.Ahead, at.T, at.Alpha)
		}
		for _, w := range r.Trial {
			m.TrialPosition, m.TrialToken = append(m.TrialPosition, w.Position), append(m.TrialToken, w.Token)
		}
		out[i] = m
	}
	return &pb.AdvanceRequest{Rows: out}
}

// AdvanceFromProto translates steps back into the memory of out; trials without a token for each position are refused.
func AdvanceFromProto(m *pb.AdvanceRequest, out []sampling.Advance) ([]sampling.Advance, error) {
	out = out[:0]
	for _, r := range m.GetRows() {
		a := sampling.Advance{Slot: int(r.GetSlot()), T: r.GetT(), S: r.GetS(), AlphaT: r.GetAlphaT(), AlphaS: r.GetAlphaS()}
		for at := r.GetAhead(); len(at) >= 2; at = at[2:] {
			a.Ahead = append(a.Ahead, sampling.Time{T: at[0], Alpha: at[1]})
		}
		if p, t := len(r.GetTrialPosition()), len(r.GetTrialToken()); p != t {
			return nil, violation("slot %d: a trial has %d positions and %d tokens, expected as many", a.Slot, p, t)
		}
		for i, p := range r.GetTrialPosition() {
			a.Trial = append(a.Trial, sampling.Write{Position: p, Token: r.GetTrialToken()[i]})
		}
		out = append(out, a)
	}
	return out, nil
}
