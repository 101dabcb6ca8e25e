package sdk

import (
	"context"
	"sync"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// plannerServer answers the host's calls with a planner, one at a time.
type plannerServer struct {
	pb.UnimplementedPlannerServer
	link    link
	planner sampling.Planner
	mu      sync.Mutex
	decoder wire.Decoder
}

func (s *plannerServer) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeReply, error) {
	return describe(ctx, s.planner)
}

func (s *plannerServer) Start(ctx context.Context, m *pb.StartRequest) (*pb.StartReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decoder.Mapping = s.link.mapping
	return startRun(ctx, s.planner, m)
}

func (s *plannerServer) Plan(ctx context.Context, m *pb.PlanRequest) (*pb.PlanReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	step, err := s.decoder.Decode(m.GetStep())
	if err != nil {
		return nil, err
	}
	// The reply shares the decisions' lists and is sent after this call, so they are not reused.
	out := make([]sampling.Decision, len(step.Rows))
	if err := s.planner.Plan(ctx, step, out); err != nil {
		return nil, err
	}
	return &pb.PlanReply{Decisions: wire.DecisionsToProto(out)}, nil
}

func (s *plannerServer) End(ctx context.Context, _ *pb.EndRequest) (*pb.EndReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.EndReply{}, s.planner.End(ctx)
}

// samplerServer answers the host's calls with a sampler.
type samplerServer struct {
	pb.UnimplementedSamplerServer
	link    link
	sampler sampling.Sampler
	mu      sync.Mutex
}

func (s *samplerServer) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeReply, error) {
	return describe(ctx, s.sampler)
}

func (s *samplerServer) Start(ctx context.Context, m *pb.StartRequest) (*pb.StartReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return startRun(ctx, s.sampler, m)
}

func (s *samplerServer) Sample(ctx context.Context, m *pb.SampleRequest) (*pb.SampleReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.link.broker.DialWithOptions(m.GetSession(), wire.DialOptions()...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return &pb.SampleReply{}, s.sampler.Sample(ctx, &session{client: pb.NewSessionClient(conn), decoder: wire.Decoder{Mapping: s.link.mapping}})
}

func (s *samplerServer) End(ctx context.Context, _ *pb.EndRequest) (*pb.EndReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.EndReply{}, s.sampler.End(ctx)
}

// described is what planners and samplers have in common.
type described interface {
	Describe(context.Context) (sampling.Description, error)
	Start(context.Context, sampling.Run) (sampling.Needs, error)
}

func describe(ctx context.Context, p described) (*pb.DescribeReply, error) {
	d, err := p.Describe(ctx)
	if err != nil {
		return nil, err
	}
	pure, ok := p.(interface{ Pure() bool })
	return wire.DescriptionToProto(d, ok && pure.Pure()), nil
}

func startRun(ctx context.Context, p described, m *pb.StartRequest) (*pb.StartReply, error) {
	run, err := wire.RunFromProto(m)
	if err != nil {
		return nil, err
	}
	needs, err := p.Start(ctx, run)
	if err != nil {
		return nil, err
	}
	return &pb.StartReply{Needs: wire.NeedsToProto(needs)}, nil
}
