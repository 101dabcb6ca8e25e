package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// restarts is how often a plugin may die in one run before the run ends.
const restarts = 3

// Process is a plugin under supervision: one process at a time, replaced when it dies and that changes nothing. It is
// used by one goroutine at a time, except Close.
type Process struct {
	spec        Spec
	memory      *shm.Memory
	ownMemory   bool
	description sampling.Description
	pure        bool
	starting    time.Duration // from launch to description
	run         *pb.StartRequest
	restarted   int // in this run
	replaced    atomic.Int64

	mu     sync.Mutex
	in     *instance // nil after a death
	closed bool
}

// Launch starts a plugin and asks what it is. The error says in one line why it cannot be used: the file is missing, not
// executable or of another machine, the plugin is of another kind or protocol, prints, exits or does not answer.
// ctx bounds the launch only; the process lives until Close.
func Launch(ctx context.Context, spec Spec) (_ *Process, err error) {
	if err := errors.Join(spec.complete(), wire.Supported()); err != nil {
		return nil, err
	}
	p := &Process{spec: spec, memory: spec.Memory}
	if spec.Reattach != nil {
		p.memory = &shm.Memory{} // nothing was handed down: logits travel as bytes
	} else if p.memory == nil {
		if p.memory, err = shm.New(); err != nil {
			return nil, err
		}
		p.ownMemory = true
	}
	began := time.Now()
	if err := p.launch(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.starting = time.Since(began)
	return p, nil
}

// Replaced is how often the process died and another took its place. It may be called from any goroutine.
func (p *Process) Replaced() int64 { return p.replaced.Load() }

// launch starts a process and reads its description.
func (p *Process) launch(ctx context.Context) error {
	began := time.Now()
	in, err := p.enter(ctx)
	if err != nil {
		return err
	}
	p.spec.log().Debug("started", append(p.spec.identity(), "pid", in.pid(), "ms", time.Since(began).Milliseconds())...)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		in.close()
		return p.spec.fail(sampling.Internal, "it was closed", "launch it again")
	}
	p.in = in
	p.mu.Unlock()
	var d *pb.DescribeReply
	err = p.call(ctx, "Describe", func(ctx context.Context, in *instance) (err error) {
		switch p.spec.Kind {
		case sampling.KindSampler:
			d, err = pb.NewSamplerClient(in.conn).Describe(ctx, &pb.DescribeRequest{})
		case sampling.KindTrainer:
			d, err = pb.NewTrainerClient(in.conn).Describe(ctx, &pb.DescribeRequest{})
		default:
			d, err = pb.NewPlannerClient(in.conn).Describe(ctx, &pb.DescribeRequest{})
		}
		return err
	})
	if e := (*sampling.Error)(nil); errors.As(err, &e) && e.Code == sampling.UnsupportedProtocol {
		return p.spec.fail(sampling.UnsupportedProtocol, "it is not a "+string(p.spec.Kind), "run it with the argument `describe` to see what it is")
	}
	if err != nil {
		return err
	}
	if sampling.Kind(d.GetKind()) != p.spec.Kind {
		return p.spec.fail(sampling.UnsupportedProtocol, fmt.Sprintf("it says that it is a %s, expected a %s", d.GetKind(), p.spec.Kind), "use it as what it is")
	}
	p.pure = d.GetPure()
	p.description, err = wire.DescriptionFromProto(d)
	return p.named(err)
}

// enter starts a process, or connects to the one that runs already.
func (p *Process) enter(ctx context.Context) (*instance, error) {
	if p.spec.Reattach != nil {
		return attach(&p.spec)
	}
	return begin(ctx, &p.spec, p.memory)
}

// Description returns what the plugin said of itself.
func (p *Process) Description() sampling.Description { return p.description }

// Pid returns the number of the running process, 0 if there is none.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == nil {
		return 0
	}
	return p.in.pid()
}

// Starting returns how long the first launch took, up to the description.
func (p *Process) Starting() time.Duration { return p.starting }

// Close ends the process, within two seconds whatever it does, and leaves nothing behind. It may be called twice.
func (p *Process) Close() error {
	p.mu.Lock()
	in := p.in
	closed := p.closed
	p.in, p.closed = nil, true
	p.mu.Unlock()
	if in != nil {
		in.close()
		how := "the host is done with it"
		if in.process != nil && in.process.wasKilled() {
			how += "; it did not end when it was asked to, and was stopped"
		}
		p.spec.log().Debug("ended", "pid", in.pid(), "how", how)
	}
	if p.ownMemory && !closed {
		return p.memory.Close()
	}
	return nil
}

func (p *Process) running() *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in
}

// ready makes sure that there is a process: one that died while nobody asked it anything is replaced.
func (p *Process) ready(ctx context.Context) error {
	if in := p.running(); in != nil {
		if !in.dead() {
			return nil
		}
		p.bury(in)
		p.spec.log().Debug("ended", "pid", in.pid(), "how", in.gone()+" between two runs"+in.said())
	}
	return p.launch(ctx)
}

// bury forgets a dead process, unless another has taken its place.
func (p *Process) bury(in *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in == in {
		p.in = nil
	}
}

// call makes one call under the deadline and turns failures into errors with codes.
func (p *Process) call(ctx context.Context, name string, do func(context.Context, *instance) error) error {
	in := p.running()
	if in == nil {
		return p.spec.fail(sampling.Crashed, "it is not running", "see the error before this one")
	}
	bounded, cancel := context.WithTimeout(ctx, p.spec.Deadlines.Call)
	defer cancel()
	began := time.Now()
	err := do(bounded, in)
	if took := time.Since(began); took > slow {
		p.spec.log().Debug("slow call", "call", name, "ms", took.Milliseconds())
	}
	return p.explain(ctx, in, name, err)
}

// slow calls are told in the log.
const slow = time.Second
