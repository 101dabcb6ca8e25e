package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/registry"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/supervise"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// part is a running plugin with what it said of itself and what it was told.
type part[P any] struct {
	plugin  P
	name    string
	desc    sampling.Description
	needs   sampling.Needs
	process *supervise.Process // nil in process
	found   *registry.Plugin   // nil within this program
	notes   []string

	attached bool // it ran already
}

// describer is what all kinds of plugin have in common before a run.
type describer interface {
	Describe(context.Context) (sampling.Description, error)
}

// openPart starts the plugin that name stands for: one that runs already, in a debugger; a first-party plugin, run by this program in
// a process of its own, or as a value with o.InProcess; or anybody's, by its path or by a name that the registry knows.
func openPart[P describer](ctx context.Context, o Options, kind sampling.Kind, name string, values map[string]func() P, client func(*supervise.Process) P, memory *shm.Memory) (part[P], error) {
	p := part[P]{name: name}
	launch, err := o.Spec(kind, name)
	if err != nil {
		return p, err
	}
	first, known := values[name]
	switch {
	case launch.Reattach != nil:
		p.attached, p.notes = true, []string{fmt.Sprintf("%s %s is process %d, which runs already (plugins.reattach): no deadlines, limits, certificates or shared memory",
			kind, name, launch.Reattach.Pid)}
	case !known:
		if p.found, err = o.Locate(kind, name); err != nil {
			return p, err
		}
		if launch, err = o.Command(p.found, kind, name); err != nil {
			return p, err
		}
		p.notes = o.noteWithheld(kind, p.found)
	case o.InProcess:
		p.plugin = first()
		desc, err := p.plugin.Describe(ctx)
		p.desc = desc
		return p, err
	}
	launch.Memory = memory
	process, err := supervise.Launch(ctx, launch)
	if err != nil {
		return p, err
	}
	p.process, p.plugin, p.desc = process, client(process), process.Description()
	return p, nil
}

// openPlanner starts the planner.
func (h *Host) openPlanner(ctx context.Context, o Options) (err error) {
	h.planner, err = openPart(ctx, o, sampling.KindPlanner, h.cfg.Planner.Name, planners.All(), (*supervise.Process).Planner, h.memory)
	return err
}

// openSampler starts the sampler.
func (h *Host) openSampler(ctx context.Context, o Options) (err error) {
	h.sampler, err = openPart(ctx, o, sampling.KindSampler, h.cfg.Sampler.Name, samplers.All(), (*supervise.Process).Sampler, h.memory)
	return err
}

// OpenTrainer starts the trainer that name stands for, first-party or anybody's. The returned function ends its process, if it has
// one.
func OpenTrainer(ctx context.Context, o Options, name string) (spec.Trainer, func() error, error) {
	p, err := openPart(ctx, o, sampling.KindTrainer, name, trainers.All(), (*supervise.Process).Trainer, nil)
	if o.Logger != nil {
		for _, note := range p.notes {
			o.Logger.Warn(note)
		}
	}
	if err != nil || p.process == nil {
		return p.plugin, func() error { return nil }, err
	}
	return p.plugin, p.process.Close, nil
}

// Plugins lists the first-party plugins with their descriptions, by kind and name.
func Plugins(ctx context.Context) ([]sampling.Description, error) {
	var out []sampling.Description
	err := errors.Join(describe(ctx, planners.All(), &out), describe(ctx, samplers.All(), &out), describe(ctx, trainers.All(), &out))
	return out, err
}

// describe adds what the plugins of one kind say of themselves.
func describe[P describer](ctx context.Context, values map[string]func() P, out *[]sampling.Description) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d, err := values[name]().Describe(ctx)
		if err != nil {
			return err
		}
		*out = append(*out, d)
	}
	return nil
}
