package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// kindFlag gives a command --kind, for names that plugins of several kinds have. The returned function is the kind, "" for any; its
// error says what there is.
func kindFlag(c *cobra.Command) func() (sampling.Kind, error) {
	kind := c.Flags().String("kind", "", "planner, sampler or trainer, where several have a plugin of the name")
	return func() (sampling.Kind, error) {
		if *kind != "" && !slices.Contains(sampling.Kinds, sampling.Kind(*kind)) {
			return "", usagef("--kind: expected planner, sampler or trainer, found %q", *kind)
		}
		return sampling.Kind(*kind), nil
	}
}

// firstPartyOf describes the plugin of a name and kind ("" for any) in this binary, and says whether there is one.
func firstPartyOf(ctx context.Context, kind sampling.Kind, name string) (plugin, bool, error) {
	all, err := firstParty(ctx)
	at := slices.IndexFunc(all, func(p plugin) bool { return p.Name == name && (kind == "" || kind == p.Kind) })
	if at < 0 {
		return plugin{}, false, err
	}
	return all[at], true, err
}

// places are where plugins are looked for, by the settings.
func (s *settings) places() (registry.Places, error) {
	cfg, err := s.load()
	if err != nil {
		return registry.Places{}, err
	}
	return registry.FindPlaces(cfg.Plugins.Path)
}

// find describes a first-party plugin by its name, or anybody's by its path or by the name under which it is installed: checked,
// started, asked and ended.
func find(ctx context.Context, kind sampling.Kind, name string, o host.Options) (plugin, error) {
	if p, own, err := firstPartyOf(ctx, kind, name); err != nil || own {
		return p, err
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
		kinds = sampling.Kinds
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
