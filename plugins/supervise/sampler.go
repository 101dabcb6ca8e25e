package supervise

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Sampler returns the plugin as a sampler. A sampler is never asked again: its trajectory is lost with it. It is killed
// with TIMEOUT when it asks for nothing during the deadline for calls; the time that the host takes does not count.
func (p *Process) Sampler() sampling.Sampler { return &sampler{process: p} }

type sampler struct {
	process *Process
	needs   sampling.Needs
}

// Describe implements [sampling.Sampler].
func (s *sampler) Describe(context.Context) (sampling.Description, error) {
	return s.process.description, nil
}

// Start implements [sampling.Sampler].
func (s *sampler) Start(ctx context.Context, run sampling.Run) (sampling.Needs, error) {
	needs, err := s.process.startRun(ctx, run)
	s.needs = needs
	return needs, err
}

// Sample implements [sampling.Sampler]: it serves the session to the plugin until the plugin is done. An error of the
// session itself is returned as it was.
func (s *sampler) Sample(ctx context.Context, hosted sampling.Session) error {
	in := s.process.running()
	if in == nil {
		return s.process.spec.fail(sampling.Crashed, "it is not running", "see the error before this one")
	}
	id := in.broker.NextId()
	listener, err := in.broker.Accept(id)
	if err != nil {
		return s.process.spec.fail(sampling.Internal, "its session cannot be served: "+err.Error(), "check the folder for temporary files")
	}
	watch := newWatch(s.process.spec.Deadlines.Call)
	session := &sessionServer{hosted: hosted, named: s.process.named, watch: watch, encoder: wire.Encoder{Needs: s.needs, Memory: s.process.memory}}
	opts := append(wire.ServerOptions(), grpc.WaitForHandlers(true), grpc.UnaryInterceptor(session.guard))
	if in.tls != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(in.tls)))
	}
	server := grpc.NewServer(opts...)
	pb.RegisterSessionServer(server, session)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends with the Stop below
	}()
	bounded, cancel := watch.context(ctx)
	_, err = pb.NewSamplerClient(in.conn).Sample(bounded, &pb.SampleRequest{Session: id})
	hung := errors.Is(context.Cause(bounded), errSilent)
	cancel()
	server.Stop() // waits for requests on their way, so that nobody uses the session after this call
	<-served
	cause := session.failure()
	// Without the caller's wish, a request ends early when its sampler gave it up, or died.
	gaveUp := ctx.Err() == nil && (errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded))
	if gaveUp {
		cause = s.process.spec.fail(sampling.ContractViolation, "it gave up a request before the answer", "wait for the session's answers; the host bounds their time")
	}
	switch {
	case err == nil:
		return cause // a sampler must not swallow what the session refused
	case ctx.Err() != nil:
		return ctx.Err()
	case hung:
		return s.process.hung(in, "Sample")
	case cause != nil && (!gaveUp || status.Code(err) != codes.Unavailable):
		return cause
	}
	return s.process.explain(ctx, in, "Sample", err)
}

// End implements [sampling.Sampler].
func (s *sampler) End(ctx context.Context) error { return s.process.endRun(ctx) }
