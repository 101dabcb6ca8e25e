package supervise

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// lifecycle are the calls that planners and samplers have in common.
type lifecycle interface {
	Start(context.Context, *pb.StartRequest, ...grpc.CallOption) (*pb.StartReply, error)
	End(context.Context, *pb.EndRequest, ...grpc.CallOption) (*pb.EndReply, error)
}

func (p *Process) lifecycle(in *instance) lifecycle {
	if p.spec.Kind == sampling.KindSampler {
		return pb.NewSamplerClient(in.conn)
	}
	return pb.NewPlannerClient(in.conn)
}

// startRun begins a run, on a new process if the last one died. A death in Start itself loses nothing either.
func (p *Process) startRun(ctx context.Context, run sampling.Run) (sampling.Needs, error) {
	p.run, p.restarted = wire.RunToProto(run), 0
	var needs sampling.Needs
	err := p.ready(ctx)
	if err == nil {
		needs, err = p.replay(ctx)
	}
	if p.replaceable(err) {
		return p.restart(ctx, err)
	}
	return needs, err
}

// replay gives the process its run.
func (p *Process) replay(ctx context.Context) (needs sampling.Needs, err error) {
	err = p.call(ctx, "Start", func(ctx context.Context, in *instance) error {
		reply, err := p.lifecycle(in).Start(ctx, p.run)
		if err != nil {
			return err
		}
		needs, err = wire.NeedsFromProto(reply.GetNeeds())
		return err
	})
	return needs, err
}

// replaceable tells an error by which the process is gone, and may be there again, from all others.
func (p *Process) replaceable(err error) bool {
	var e *sampling.Error
	return errors.As(err, &e) && e.Code == sampling.Crashed && p.spec.Reattach == nil
}

// restart replaces a process that died in a run by one in the same state, and that by another should it die on the way.
func (p *Process) restart(ctx context.Context, death error) (sampling.Needs, error) {
	for {
		if p.restarted++; p.restarted > restarts {
			return sampling.Needs{}, fmt.Errorf("%w (it died %d times in this run)", death, p.restarted)
		}
		p.spec.Logger.Warn("plugin died and is started again", "plugin", p.spec.object(), "error", death.Error())
		err := p.launch(ctx)
		if err == nil {
			p.replaced.Add(1)
			var needs sampling.Needs
			if needs, err = p.replay(ctx); err == nil {
				return needs, nil
			}
		}
		if !p.replaceable(err) {
			return sampling.Needs{}, err
		}
		death = err
	}
}

// endRun ends the run; a process that is gone, or goes on hearing of it, has ended it already.
func (p *Process) endRun(ctx context.Context) error {
	if p.run == nil || p.running() == nil {
		return nil
	}
	p.run = nil
	err := p.call(ctx, "End", func(ctx context.Context, in *instance) error {
		_, err := p.lifecycle(in).End(ctx, &pb.EndRequest{})
		return err
	})
	if p.replaceable(err) {
		return nil
	}
	return err
}
