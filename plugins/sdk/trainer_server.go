package sdk

import (
	"context"
	"sync"

	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// trainerServer answers the host's calls with a trainer.
type trainerServer struct {
	pb.UnimplementedTrainerServer
	trainer spec.Trainer
	mu      sync.Mutex
}

func (s *trainerServer) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeReply, error) {
	d, err := s.trainer.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return wire.DescriptionToProto(d, true), nil
}

func (s *trainerServer) Build(ctx context.Context, m *pb.BuildRequest) (*pb.BuildReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply, err := s.trainer.Build(ctx, wire.TaskFromProto(m))
	if err != nil {
		return nil, err
	}
	return wire.ReplyToProto(reply), nil
}

func (s *trainerServer) End(ctx context.Context, _ *pb.EndRequest) (*pb.EndReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.EndReply{}, s.trainer.End(ctx)
}
