package main

import (
	"context"
	"errors"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// pluginKinds are the kinds of plugin, in the order in which a binary is tried as one.
var pluginKinds = []sampling.Kind{sampling.KindPlanner, sampling.KindSampler, sampling.KindTrainer}

// find describes a first-party plugin by its name, or anybody's by its path or by the name under which it is installed: checked,
// started, asked and ended.
func find(ctx context.Context, kind sampling.Kind, name string, o host.Options) (plugin, error) {
	all, err := firstParty(ctx)
	if err != nil {
		return plugin{}, err
	}
	for _, p := range all {
		if p.Name == name && (kind == "" || kind == p.Kind) {
			return p, nil
		}
	}
	located, err := o.Locate(kind, name)
	if err != nil {
		return plugin{}, err
	}
	return ask(ctx, o, located, kind, name)
}

// ask starts a located plugin: as what its manifest says, else as a planner unless it says that it is something else.
func ask(ctx context.Context, o host.Options, located *registry.Plugin, kind sampling.Kind, name string) (plugin, error) {
	kinds := []sampling.Kind{kind}
	switch {
	case kind != "":
	case located.Kind() != "":
		kinds[0] = located.Kind()
	default:
		kinds = pluginKinds
	}
	var first error
	for _, k := range kinds {
		spec, err := o.Command(located, k, name)
		if err != nil {
			return plugin{}, err
		}
		p, err := supervise.Launch(ctx, spec)
		if err == nil {
			out := newPluginInfoOf(p.Description())
			if out.Installed, err = newInstalled(o, located); err != nil {
				return plugin{}, errors.Join(err, p.Close())
			}
			return out, p.Close()
		}
		if first == nil {
			first = err
		}
		var coded *sampling.Error
		if !errors.As(err, &coded) || coded.Code != sampling.UnsupportedProtocol {
			break // it would fail as the other kind too
		}
	}
	return plugin{}, first
}
