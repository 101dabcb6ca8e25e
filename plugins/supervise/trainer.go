package supervise

import (
	"context"
	"errors"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Trainer returns the plugin as a trainer. Its replies are checked ([spec.Check]). A trainer that dies in Build is not asked
// again: the same task would end the same way; the next Build starts it anew.
func (p *Process) Trainer() spec.Trainer { return &trainer{process: p} }

type trainer struct{ process *Process }

// Describe implements [spec.Trainer].
func (t *trainer) Describe(context.Context) (sampling.Description, error) {
	return t.process.description, nil
}

// Build implements [spec.Trainer].
func (t *trainer) Build(ctx context.Context, task spec.Task) (*spec.Reply, error) {
	if err := task.Check(); err != nil {
		return nil, err
	}
	if err := t.process.ready(ctx); err != nil {
		return nil, err
	}
	var reply *spec.Reply
	err := t.process.call(ctx, "Build", func(ctx context.Context, in *instance) error {
		m, err := pb.NewTrainerClient(in.conn).Build(ctx, wire.TaskToProto(&task))
		if err != nil {
			return err
		}
		reply = wire.ReplyFromProto(m)
		return nil
	})
	if err != nil {
		return nil, tooBig(err)
	}
	if err := spec.Check(&task, reply); err != nil {
		return nil, t.process.named(err)
	}
	return reply, nil
}

// tooBig says what to do about a reply that no message holds; for planners it is the batch.
func tooBig(err error) error {
	var e *sampling.Error
	if errors.As(err, &e) && e.Code == sampling.Exhausted {
		told := *e
		told.Hint = "the graphs may have 250 MiB together; big tables belong into the spec's parameters"
		return &told
	}
	return err
}

// End implements [spec.Trainer]. A process that is gone has ended already.
func (t *trainer) End(ctx context.Context) error {
	if t.process.running() == nil {
		return nil
	}
	return t.process.call(ctx, "End", func(ctx context.Context, in *instance) error {
		_, err := pb.NewTrainerClient(in.conn).End(ctx, &pb.EndRequest{})
		return err
	})
}
