package plugintest

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// Target is a plugin to be checked: a program that is started as the host starts it, or values made in this process.
type Target struct {
	kind    sampling.Kind
	launch  *supervise.Spec // nil: in process
	planner func() sampling.Planner
	sampler func() sampling.Sampler
	trainer func() spec.Trainer
}

// Program is the plugin that the spec starts; its Kind must be set.
func Program(launch supervise.Spec) Target { return Target{kind: launch.Kind, launch: &launch} }

// Planner is the planner that a function makes, anew for each life.
func Planner(factory func() sampling.Planner) Target {
	return Target{kind: sampling.KindPlanner, planner: factory}
}

// Sampler is the sampler that a function makes, anew for each life.
func Sampler(factory func() sampling.Sampler) Target {
	return Target{kind: sampling.KindSampler, sampler: factory}
}

// Trainer is the trainer that a function makes, anew for each life.
func Trainer(factory func() spec.Trainer) Target {
	return Target{kind: sampling.KindTrainer, trainer: factory}
}

// life is one process, or one value.
type life struct {
	sampling.Planner // of planners
	sampler          sampling.Sampler
	trainer          spec.Trainer
	description      sampling.Description
	pure             bool // in process only: a process is asked for it apart
	process          *supervise.Process
}

func (l *life) close() {
	if l != nil && l.process != nil {
		_ = l.process.Close()
	}
}

// begin starts a process or makes a value, and asks what it is.
func (t *Target) begin(ctx context.Context, call time.Duration) (*life, error) {
	if t.launch != nil {
		p, err := supervise.Launch(ctx, *t.launch)
		if err != nil {
			return nil, err
		}
		l := &life{process: p, description: p.Description()}
		switch t.kind {
		case sampling.KindPlanner:
			l.Planner = p.Planner()
		case sampling.KindSampler:
			l.sampler = p.Sampler()
		case sampling.KindTrainer:
			l.trainer = p.Trainer()
		}
		return l, nil
	}
	l := &life{}
	var describe func(context.Context) (sampling.Description, error)
	err := bounded(call, func() error {
		switch t.kind {
		case sampling.KindPlanner:
			p := t.planner()
			pure, ok := p.(interface{ Pure() bool })
			l.Planner, l.pure, describe = inProcess{p, call}, ok && pure.Pure(), p.Describe
		case sampling.KindSampler:
			l.sampler = t.sampler()
			describe = l.sampler.Describe
		case sampling.KindTrainer:
			l.trainer = t.trainer()
			describe = l.trainer.Describe
		}
		var err error
		l.description, err = describe(ctx)
		return err
	})
	return l, err
}

// inProcess gives a planner's value what a process has: deadlines, and panics that become errors.
type inProcess struct {
	sampling.Planner
	call time.Duration
}

func (p inProcess) Start(ctx context.Context, run sampling.Run) (needs sampling.Needs, err error) {
	err = bounded(p.call, func() (err error) { needs, err = p.Planner.Start(ctx, run); return err })
	return needs, err
}

func (p inProcess) Plan(ctx context.Context, step *sampling.Step, out []sampling.Decision) error {
	return bounded(p.call, func() error { return p.Planner.Plan(ctx, step, out) })
}

func (p inProcess) End(ctx context.Context) error {
	return bounded(p.call, func() error { return p.Planner.End(ctx) })
}

// panicked is how the kits tell of a panic.
const panicked = "panic in the plugin: "

// bounded calls f, and answers for it when it panics or takes too long; what hangs is left behind.
func bounded(limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				done <- &sampling.Error{Code: sampling.Internal, Object: "plugin", Problem: panicked + fmt.Sprint(cause) + author(debug.Stack())}
			}
		}()
		done <- f()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return &sampling.Error{Code: sampling.Timeout, Object: "plugin", Problem: fmt.Sprintf("no answer within %v", limit), Hint: "look for what holds it up"}
	}
}

// author is the line of a stack that panicked, the first after the panic, as " (/path/main.go:28)".
func author(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			for i += 2; i+3 < len(lines) && strings.HasPrefix(lines[i], "runtime."); {
				i += 2 // on the way from the author's line to the panic
			}
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			return " (" + place + ")"
		}
	}
	return ""
}
