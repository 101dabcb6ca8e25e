package supervise

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// sessionServer answers a sampler's requests with the host's session, one at a time.
type sessionServer struct {
	pb.UnimplementedSessionServer
	hosted  sampling.Session
	named   func(error) error // puts the sampler's name on errors of its messages
	watch   *watch
	encoder wire.Encoder

	mu      sync.Mutex
	rows    []sampling.Advance
	denoise int // rows of the last Denoise
	failed  error
}

// guard serves requests one after the other, stops the sampler's clock meanwhile, and keeps the first error as it was.
func (s *sessionServer) guard(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.watch.enter()()
	reply, err := handler(ctx, req)
	if err != nil && s.failed == nil {
		s.failed = err
	}
	return reply, wire.ToStatus(err)
}

// failure returns the first error of the session itself.
func (s *sessionServer) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *sessionServer) Admit(ctx context.Context, _ *pb.AdmitRequest) (*pb.RowStates, error) {
	return rowsReply(s.hosted.Admit(ctx))
}

func (s *sessionServer) Advance(ctx context.Context, m *pb.AdvanceRequest) (*pb.RowStates, error) {
	var err error
	if s.rows, err = wire.AdvanceFromProto(m, s.rows); err != nil {
		return nil, err
	}
	return rowsReply(s.hosted.Advance(ctx, s.rows))
}

func (s *sessionServer) Denoise(ctx context.Context, m *pb.AdvanceRequest) (*pb.Step, error) {
	rows, err := wire.AdvanceFromProto(m, s.rows)
	if err != nil {
		return nil, err
	}
	s.rows = rows
	step, err := s.hosted.Denoise(ctx, s.rows)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.rows, func(a sampling.Advance) bool { return len(a.Trial) > 0 }) { // else decisions still belong to the Denoise before
		s.denoise = len(step.Rows)
	}
	out, err := s.encoder.Encode(step)
	if err != nil {
		return nil, err
	}
	return proto.Clone(out).(*pb.Step), nil // the reply is sent after this call, the encoder's memory is reused
}

func (s *sessionServer) Plan(ctx context.Context, _ *pb.SessionPlanRequest) (*pb.PlanReply, error) {
	decisions, err := s.hosted.Plan(ctx)
	if err != nil {
		return nil, err
	}
	reply := &pb.PlanReply{Decisions: wire.DecisionsToProto(decisions)}
	return proto.Clone(reply).(*pb.PlanReply), nil // the lists are the session's
}

func (s *sessionServer) Apply(ctx context.Context, m *pb.ApplyRequest) (*pb.RowStates, error) {
	decisions := make([]sampling.Decision, s.denoise)
	if err := wire.DecisionsFromProto(m.GetDecisions(), decisions); err != nil {
		return nil, s.named(err)
	}
	return rowsReply(s.hosted.Apply(ctx, decisions))
}

func (s *sessionServer) Emit(ctx context.Context, m *pb.EmitRequest) (*pb.EmitReply, error) {
	slots := make([]int, len(m.GetSlots()))
	for i, slot := range m.GetSlots() {
		slots[i] = int(slot)
	}
	return &pb.EmitReply{}, s.hosted.Emit(ctx, slots)
}

func rowsReply(rows []sampling.RowState, err error) (*pb.RowStates, error) {
	if err != nil {
		return nil, err
	}
	return wire.RowsToProto(rows), nil
}
