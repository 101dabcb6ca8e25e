package sdk

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

// Option says something of a plugin beyond its name and its function.
type Option func(*definition)

// definition is what an author says of a plugin before any run.
type definition struct {
	sampling.Description
	needsFor func(options any) (sampling.Needs, error)
	pure     bool
}

// Needs declares the statistics that the plugin reads. With [NeedsFor] it is the largest set that any options ask for.
func Needs(statistics ...Statistic) Option {
	return func(d *definition) {
		for _, add := range statistics {
			add(&d.Needs)
		}
	}
}

// NeedsFor says which of the declared needs these options require, so that the host computes no more. O is the
// plugin's options type.
func NeedsFor[O any](needs func(O) sampling.Needs) Option {
	return func(d *definition) {
		d.needsFor = func(given any) (sampling.Needs, error) {
			o, ok := given.(O)
			if !ok {
				var want O
				return sampling.Needs{}, fmt.Errorf("sdk.NeedsFor reads options of type %T, the plugin has %T", want, given)
			}
			return needs(o), nil
		}
	}
}

// NeedsOf returns the statistics that options declare, so that one who makes planners out of other people's options can add to them
// or leave some out by [NeedsFor].
func NeedsOf(opts ...Option) sampling.Needs {
	var d definition
	for _, o := range opts {
		o(&d)
	}
	return d.Needs
}

// Version is the plugin's own version, such as "0.1.0".
func Version(version string) Option { return func(d *definition) { d.Version = version } }

// Summary is one line for lists.
func Summary(line string) Option { return func(d *definition) { d.Summary = line } }

// CanRemask says that the planner may mask written positions again or overwrite them.
func CanRemask() Option { return func(d *definition) { d.CanRemask = true } }

// CanInsert says that the planner may insert and delete positions.
func CanInsert() Option { return func(d *definition) { d.CanInsert = true } }

// Adaptive says that the number of steps is only a cap: the planner finishes rows by itself.
func Adaptive() Option { return func(d *definition) { d.Adaptive = true } }

// Pure says that a decision depends on nothing but the step and the options, not on earlier calls. When such a planner
// crashes, the host starts it anew and asks again instead of ending the run.
func Pure() Option { return func(d *definition) { d.pure = true } }

// define describes a plugin with options of type O.
func define[O any](kind sampling.Kind, name string, opts []Option) (definition, error) {
	d := definition{Description: sampling.Description{Kind: kind, Name: name, Version: "0.0.0"}}
	for _, o := range opts {
		o(&d)
	}
	schema, err := options.Schema[O]()
	if err != nil {
		return d, &sampling.Error{Code: sampling.Internal, Object: d.object(), Problem: err.Error(), Hint: "correct the struct tags of the options"}
	}
	d.OptionsSchema = string(schema)
	return d, nil
}

func (d *definition) object() string { return string(d.Kind) + " " + d.Name }

// start reads the options and returns them with the needs that follow from them.
func start[O any](d *definition, run sampling.Run) (O, sampling.Needs, error) {
	o, err := options.Parse[O](run.Options)
	if err != nil {
		return o, sampling.Needs{}, &sampling.Error{Code: sampling.InvalidConfig, Object: d.object(), Problem: err.Error(),
			Hint: "`mdmhost plugin info " + d.Name + "` lists the options"}
	}
	if d.needsFor == nil {
		return o, d.Needs, nil
	}
	needs, err := d.needsFor(o)
	if err == nil {
		err = within(needs, d.Needs)
	}
	if err != nil {
		return o, needs, &sampling.Error{Code: sampling.Internal, Object: d.object(), Problem: err.Error(), Hint: "correct the plugin's definition"}
	}
	return o, needs, nil
}

// within checks that needs ask for nothing beyond the declared set. Which distribution a statistic is of, and the
// contents of vocab_dot vectors, may depend on the options.
func within(needs, declared sampling.Needs) error {
	if declared.LogpProposal != sampling.NotNeeded && needs.LogpProposal != sampling.NotNeeded {
		needs.LogpProposal = declared.LogpProposal
	}
	if declared.Entropy != sampling.NotNeeded && needs.Entropy != sampling.NotNeeded {
		needs.Entropy = declared.Entropy
	}
	needs.PeaksOn = declared.PeaksOn
	if 0 < needs.TopK && needs.TopK <= declared.TopK {
		needs.TopK = declared.TopK
	}
	needs.VocabDot, declared.VocabDot = nil, nil
	has := map[string]bool{}
	for _, n := range declared.List() {
		has[n] = true
	}
	for _, n := range needs.List() {
		if !has[n] {
			return fmt.Errorf("sdk.NeedsFor asks for %s, which sdk.Needs does not declare", n)
		}
	}
	return nil
}
