package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// bare is a planner that is written against the protocol, without the kit.
type bare struct {
	pb.UnimplementedPlannerServer
	plugin.NetRPCUnsupportedPlugin
	version  int                          // of the protocol; 0 is 1
	orphan   bool                         // does not end with its host
	mute     bool                         // says nothing when it is started by hand
	describe func(*pb.DescribeReply)      // changes the description; nil: nothing
	start    func()                       // is told of runs; nil: nobody
	ended    func()                       // is called when the host is done
	plan     func(*pb.Step) *pb.PlanReply // nil: fills every row
}

func (b bare) serve() {
	if os.Getenv(wire.Handshake.MagicCookieKey) == "" {
		if !b.mute {
			fmt.Fprintln(os.Stderr, "planner broken is a plugin of mdmhost")
		}
		os.Exit(1)
	}
	if fd, err := strconv.Atoi(os.Getenv(wire.LifelineVar)); !b.orphan && err == nil {
		go func() {
			_, _ = os.NewFile(uintptr(fd), "lifeline").Read(make([]byte, 1))
			if b.ended != nil {
				b.ended()
			}
			os.Exit(0)
		}()
	}
	version := max(b.version, wire.Version)
	handshake := wire.Handshake
	handshake.ProtocolVersion = uint(version)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake, VersionedPlugins: map[int]plugin.PluginSet{version: {"planner": b}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, wire.ServerOptions()...)...)
		},
	})
	if b.ended != nil {
		b.ended()
	}
}

func (b bare) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeReply, error) {
	d := &pb.DescribeReply{Kind: "planner", Name: "broken", Version: "0.1.0", Summary: "a fixture", OptionsSchema: `{"type": "object", "properties": {}}`}
	if b.describe != nil {
		b.describe(d)
	}
	return d, nil
}

func (b bare) Start(_ context.Context, m *pb.StartRequest) (*pb.StartReply, error) {
	if err := noOptions(m.GetOptions()); err != nil {
		return nil, wire.ToStatus(err)
	}
	if b.start != nil {
		b.start()
	}
	return &pb.StartReply{}, nil
}

func (b bare) Plan(_ context.Context, m *pb.PlanRequest) (*pb.PlanReply, error) {
	if b.plan != nil {
		return b.plan(m.GetStep()), nil
	}
	reply := &pb.PlanReply{}
	for range m.GetStep().GetN() {
		reply.Decisions = append(reply.Decisions, &pb.Decision{Fill: pb.Fill_FILL_DRAW})
	}
	return reply, nil
}

func (bare) End(context.Context, *pb.EndRequest) (*pb.EndReply, error) { return &pb.EndReply{}, nil }

// GRPCServer registers the service.
func (b bare) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterPlannerServer(s, b)
	return nil
}

// GRPCClient is the host's.
func (bare) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}
