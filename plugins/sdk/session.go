package sdk

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// session is the host's session as a sampler in its own process sees it. Rows, steps and decisions that it returns are
// valid until the next call.
type session struct {
	client    pb.SessionClient
	decoder   wire.Decoder
	step      *sampling.Step
	rows      []sampling.RowState
	decisions []sampling.Decision
}

func (s *session) Admit(ctx context.Context) ([]sampling.RowState, error) {
	return s.rowsOf(s.client.Admit(ctx, &pb.AdmitRequest{}))
}

func (s *session) Advance(ctx context.Context, rows []sampling.Advance) ([]sampling.RowState, error) {
	return s.rowsOf(s.client.Advance(ctx, wire.AdvanceToProto(rows)))
}

func (s *session) Denoise(ctx context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	m, err := s.client.Denoise(ctx, wire.AdvanceToProto(rows))
	if err != nil {
		return nil, fromHost(err)
	}
	s.step, err = s.decoder.Decode(m)
	return s.step, err
}

func (s *session) Plan(ctx context.Context) ([]sampling.Decision, error) {
	m, err := s.client.Plan(ctx, &pb.SessionPlanRequest{})
	if err != nil {
		return nil, fromHost(err)
	}
	s.decisions = make([]sampling.Decision, len(m.GetDecisions()))
	return s.decisions, wire.DecisionsFromProto(m.GetDecisions(), s.decisions)
}

func (s *session) Apply(ctx context.Context, decisions []sampling.Decision) ([]sampling.RowState, error) {
	return s.rowsOf(s.client.Apply(ctx, &pb.ApplyRequest{Decisions: wire.DecisionsToProto(decisions)}))
}

func (s *session) Emit(ctx context.Context, slots []int) error {
	m := &pb.EmitRequest{Slots: make([]int32, len(slots))}
	for i, slot := range slots {
		m.Slots[i] = int32(slot)
	}
	_, err := s.client.Emit(ctx, m)
	return fromHost(err)
}

func (s *session) rowsOf(m *pb.RowStates, err error) ([]sampling.RowState, error) {
	if err != nil {
		return nil, fromHost(err)
	}
	s.rows = wire.RowsFromProto(m, s.rows)
	return s.rows, nil
}

// fromHost gives an error of the host its code back.
func fromHost(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := wire.FromStatus(err, "host"); ok {
		return e
	}
	if wire.Cancelled(err) {
		return context.Canceled
	}
	return &sampling.Error{Code: sampling.Internal, Object: "host", Problem: err.Error()}
}
