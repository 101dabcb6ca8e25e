package sdk

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// ServePlanner is the whole main function of a planner plugin: it serves [NewPlanner]'s planner until the host is done. It
// does not return: it ends the process.
func ServePlanner[O any](name string, build func(O) PlanRow, opts ...Option) {
	Serve(NewPlanner(name, build, opts...))
}

// ServePlannerFunc serves [NewPlannerFunc]'s planner, like [ServePlanner].
func ServePlannerFunc(name string, plan PlanRow, opts ...Option) {
	Serve(NewPlannerFunc(name, plan, opts...))
}

// Serve serves a planner as a plugin process until the host is done. Started by hand, the process
// says what it is; with the argument "describe" it prints its description as JSON. Serve does not return: it ends the
// process, with status 0 when the host is done.
func Serve(p sampling.Planner) {
	d, err := p.Describe(context.Background())
	serve(d, err, func(link link, s *grpc.Server) { pb.RegisterPlannerServer(s, &plannerServer{planner: p, link: link}) })
}

// ServeSampler serves a sampler as a plugin process, like [Serve].
func ServeSampler(s sampling.Sampler) {
	d, err := s.Describe(context.Background())
	serve(d, err, func(link link, g *grpc.Server) { pb.RegisterSamplerServer(g, &samplerServer{sampler: s, link: link}) })
}

// registration puts a plugin's service onto a server.
type registration func(link, *grpc.Server)

func serve(d sampling.Description, broken error, register registration) {
	if broken == nil {
		broken = wire.Supported()
	}
	if os.Getenv(wire.Handshake.MagicCookieKey) != wire.Handshake.MagicCookieValue {
		if len(os.Args) > 1 && os.Args[len(os.Args)-1] == DebugFlag {
			os.Exit(serveDebug(d, broken, register))
		}
		os.Exit(byHand(d, broken, os.Args, os.Stdout, os.Stderr))
	}
	log := hclog.New(&hclog.LoggerOptions{Name: d.Name, Level: hclog.Debug, Output: os.Stderr, JSONFormat: true})
	slog.SetDefault(slog.New(logs{to: log}))
	link := link{stderr: os.Stderr, log: log, mapping: inheritedMemory()}
	watchLifeline()
	plugin.Serve(config(d, link, register))
	os.Exit(0)
}

// config is the plugin as go-plugin serves it.
func config(d sampling.Description, link link, register registration) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig: wire.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{
			wire.Version: {string(d.Kind): &served{link: link, register: register}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server { // opts hold the certificates, where there are any
			opts = append(opts, wire.ServerOptions()...)
			return grpc.NewServer(append(opts, grpc.UnaryInterceptor(link.guard()))...)
		},
		Logger: warnings{link.log},
	}
}

// warnings keeps go-plugin's own words out of the log where they are of use to nobody: its addresses, and the end of a server that
// was told to end.
type warnings struct{ hclog.Logger }

// Debug drops the line.
func (warnings) Debug(string, ...any) {}

// Error drops the line with which a stopped server ends.
func (w warnings) Error(message string, args ...any) {
	if message != "grpc server" {
		w.Logger.Error(message, args...)
	}
}

// served is the plugin in go-plugin's eyes.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	link     link
	register registration
}

// GRPCServer registers the plugin's service.
func (p *served) GRPCServer(broker *plugin.GRPCBroker, s *grpc.Server) error {
	l := p.link
	l.broker = broker
	p.register(l, s)
	return nil
}

// GRPCClient is the host's side and not here.
func (*served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, io.ErrUnexpectedEOF
}
