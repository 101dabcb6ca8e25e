package sdk

import (
	"context"

	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/sdk/options"
	"github.com/mdmhost/mdmhost/plugins/sdk/trainer"
)

// ServeTrainer is the whole main function of a trainer plugin without options, which trains the denoiser on a loss and
// evaluates it by the plain bound. It does not return: it ends the process.
func ServeTrainer(name string, loss trainer.Func, opts ...Option) {
	ServeTrainerWith(name, func(struct{}, spec.Task) (trainer.Definition, error) { return trainer.Definition{Loss: loss}, nil }, opts...)
}

// ServeTrainerWith serves [NewTrainer]'s trainer, like [ServeTrainer].
func ServeTrainerWith[O any](name string, define func(O, spec.Task) (trainer.Definition, error), opts ...Option) {
	ServeTrainerValue(NewTrainer(name, define, opts...))
}

// ServeTrainerValue serves a trainer as a plugin process, like [Serve].
func ServeTrainerValue(t spec.Trainer) {
	d, err := t.Describe(context.Background())
	serve(d, err, func(_ link, s *grpc.Server) { pb.RegisterTrainerServer(s, &trainerServer{trainer: t}) })
}

// NewTrainer makes a trainer that runs in process. build is called once per run with the run's options and the task, and
// may refuse them with an error.
func NewTrainer[O any](name string, build func(O, spec.Task) (trainer.Definition, error), opts ...Option) spec.Trainer {
	d, err := define[O](sampling.KindTrainer, name, opts)
	return &graphTrainer[O]{definition: d, broken: err, build: build}
}

type graphTrainer[O any] struct {
	definition
	broken error // the definition's own mistake
	build  func(O, spec.Task) (trainer.Definition, error)
}

// Describe returns what the author declared.
func (t *graphTrainer[O]) Describe(context.Context) (sampling.Description, error) {
	return t.Description, t.broken
}

// Build reads the options, writes the graphs and checks them as the host does.
func (t *graphTrainer[O]) Build(_ context.Context, task spec.Task) (*spec.Reply, error) {
	if t.broken != nil {
		return nil, t.broken
	}
	if err := task.Check(); err != nil {
		return nil, err
	}
	o, err := options.Parse[O](task.Options)
	if err != nil {
		return nil, &sampling.Error{Code: sampling.InvalidConfig, Object: t.object(), Problem: err.Error(),
			Hint: "`mdmhost plugin info " + t.Name + "` lists the options"}
	}
	d, err := t.build(o, task)
	if err != nil {
		return nil, asError(err, sampling.InvalidConfig, t.object())
	}
	reply, err := trainer.Build(t.Name, task, d)
	if err != nil {
		return nil, asError(err, sampling.ContractViolation, t.object())
	}
	if err := spec.Check(&task, reply); err != nil {
		return nil, t.blamed(err)
	}
	return reply, nil
}

// blamed puts the trainer's name where the check could not know it.
func (t *graphTrainer[O]) blamed(err error) error {
	if e, ok := err.(*sampling.Error); ok {
		named := *e
		named.Object = t.object()
		return &named
	}
	return err
}

// End has nothing to drop.
func (t *graphTrainer[O]) End(context.Context) error { return nil }
