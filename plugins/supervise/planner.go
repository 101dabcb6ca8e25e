package supervise

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Planner returns the plugin as a planner.
//
// When the process dies in Plan, the planner is started anew, the run's Start is repeated and the step is asked again, if that
// cannot change the result: the plugin says that it is pure, or every row of the step is in its first step and so has no history.
// Otherwise, and when it dies more than three times in a run, the error is CRASHED; a planner that does not answer is killed and the
// error is TIMEOUT, and one that a debugger holds is neither restarted nor killed.
func (p *Process) Planner() sampling.Planner {
	return &planner{process: p, encoder: wire.Encoder{Memory: p.memory}}
}

type planner struct {
	process *Process
	encoder wire.Encoder
	request pb.PlanRequest
}

// Describe implements [sampling.Planner].
func (p *planner) Describe(context.Context) (sampling.Description, error) {
	return p.process.description, nil
}

// Start implements [sampling.Planner].
func (p *planner) Start(ctx context.Context, run sampling.Run) (sampling.Needs, error) {
	needs, err := p.process.startRun(ctx, run)
	p.encoder.Needs = needs
	return needs, err
}

// Plan implements [sampling.Planner].
func (p *planner) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	m, err := p.encoder.Encode(step)
	if err != nil {
		return &sampling.Error{Code: sampling.Internal, Object: "host", Problem: "the step for " + p.process.spec.object() + " cannot be sent", Err: err}
	}
	p.request.Step = m
	err = p.plan(ctx, out)
	for p.process.replaceable(err) && (p.process.pure || first(step)) {
		if _, err := p.process.restart(ctx, err); err != nil {
			return err
		}
		err = p.plan(ctx, out)
	}
	return err
}

func (p *planner) plan(ctx context.Context, out []sampling.Decision) error {
	return p.process.call(ctx, "Plan", func(ctx context.Context, in *instance) error {
		reply, err := pb.NewPlannerClient(in.conn).Plan(ctx, &p.request)
		if err != nil {
			return err
		}
		return wire.DecisionsFromProto(reply.GetDecisions(), out)
	})
}

// first tells whether no row has a history.
func first(step *sampling.Step) bool {
	for i := range step.Rows {
		if step.Rows[i].Step > 0 {
			return false
		}
	}
	return true
}

// End implements [sampling.Planner].
func (p *planner) End(ctx context.Context) error { return p.process.endRun(ctx) }
