package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/configs"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/registry"
)

// loadChecked merges all sources and checks them with what the plugins and models in this binary say, so that all
// problems show at once. What somebody else's plugin takes is checked when it starts.
func (s *settings) loadChecked(ctx context.Context) (*config.Config, error) {
	cfg, err := s.load()
	return checked(ctx, cfg, err)
}

// checked adds to the problems of a configuration, if it has any, those of its plugins and its model.
func checked(ctx context.Context, cfg *config.Config, err error) (*config.Config, error) {
	var problems config.Problems
	if err != nil && (!errors.As(err, &problems) || cfg == nil) {
		return nil, err
	}
	add := func(err error) error {
		var more config.Problems
		if !errors.As(err, &more) {
			return err
		}
		for _, p := range more {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
		return nil
	}
	if err := findModel(cfg); err != nil {
		problems = append(problems, config.Problem{Origin: cfg.Origin("model"), Key: "model", Text: err.Error()})
	}
	if err := findNetwork(cfg); err != nil {
		problems = append(problems, config.Problem{Origin: cfg.Origin("planner.network"), Key: "planner.network", Text: err.Error()})
	}
	whole, err := withGeneration(cfg)
	if err := add(err); err != nil {
		return nil, err
	}
	if err := add(checkPlugins(ctx, whole, problems)); err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return cfg, nil
}

// withGeneration adds what a model sets for itself: its planner and sampler decide which options there are.
func withGeneration(cfg *config.Config) (*config.Config, error) {
	m, generation, err := model.About(cfg.Model)
	if err != nil {
		return cfg, nil // what cannot be read is told when the model is opened
	}
	return host.WithManifest(cfg, filepath.Clean(cfg.Model), m, generation)
}

// checkPlugins checks the names of planner and sampler and the options of those in this binary. Sections whose plugin
// has a problem already are left out.
func checkPlugins(ctx context.Context, cfg *config.Config, before config.Problems) error {
	all, err := host.Plugins(ctx)
	if err != nil {
		return err
	}
	var problems config.Problems
	for _, s := range []struct {
		kind  sampling.Kind
		name  string
		check func(schema string) (map[string]any, error)
	}{
		{sampling.KindPlanner, cfg.Planner.Name, cfg.PlannerOptions},
		{sampling.KindSampler, cfg.Sampler.Name, cfg.SamplerOptions},
	} {
		key := string(s.kind) + ".name"
		named := func(p config.Problem) bool { return p.Key == key || p.Key == string(s.kind) }
		if registry.IsPath(s.name) || slices.ContainsFunc(before, named) {
			continue
		}
		var wrong config.Problems
		if running, err := host.Attached(cfg, s.kind, s.name); errors.As(err, &wrong) {
			problems = append(problems, wrong...)
			continue
		} else if running {
			continue // it says what its options are when the run connects to it
		}
		at := slices.IndexFunc(all, func(d sampling.Description) bool { return d.Kind == s.kind && d.Name == s.name })
		if at < 0 {
			if _, preset := configs.Read(s.name); preset {
				problems = append(problems, config.Problem{Origin: cfg.Origin(key), Text: fmt.Sprintf(
					"no %s %q, but a preset, which names a planner with its options; take --config %s", s.kind, s.name, s.name)})
				continue
			}
			if _, err := options(cfg).Locate(s.kind, s.name); err != nil {
				problems = append(problems, config.Problem{Origin: cfg.Origin(key), Text: said(err)})
			}
			continue // what it can be told is checked when it starts
		}
		if _, err := s.check(all[at].OptionsSchema); errors.As(err, &wrong) {
			problems = append(problems, wrong...)
		} else if err != nil {
			return err
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// said is the text of an error without the object, which the origin of a problem names already.
func said(err error) string {
	var coded *sampling.Error
	if errors.As(err, &coded) {
		return coded.Problem + "; " + coded.Hint
	}
	return err.Error()
}
