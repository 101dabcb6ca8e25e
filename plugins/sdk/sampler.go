package sdk

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// SampleFunc drives a session until no rows are left.
type SampleFunc func(ctx context.Context, session sampling.Session) error

// NewSampler makes a sampler that runs in process. build is called once per run with the run's options.
func NewSampler[O any](name string, build func(O, sampling.Run) (SampleFunc, error), opts ...Option) sampling.Sampler {
	d, err := define[O](sampling.KindSampler, name, opts)
	return &sampler[O]{definition: d, broken: err, build: build}
}

type sampler[O any] struct {
	definition
	broken error // the definition's own mistake
	build  func(O, sampling.Run) (SampleFunc, error)
	sample SampleFunc
}

// Describe returns what the author declared.
func (s *sampler[O]) Describe(context.Context) (sampling.Description, error) {
	return s.Description, s.broken
}

// Start reads the options and builds the run's function.
func (s *sampler[O]) Start(_ context.Context, run sampling.Run) (sampling.Needs, error) {
	if s.broken != nil {
		return sampling.Needs{}, s.broken
	}
	o, needs, err := start[O](&s.definition, run)
	if err != nil {
		return sampling.Needs{}, err
	}
	if s.sample, err = s.build(o, run); err != nil {
		return sampling.Needs{}, asError(err, sampling.InvalidConfig, s.object())
	}
	return needs, nil
}

// Sample runs the author's function.
func (s *sampler[O]) Sample(ctx context.Context, session sampling.Session) error {
	if s.sample == nil {
		return &sampling.Error{Code: sampling.ContractViolation, Object: s.object(), Problem: "Sample came before Start", Hint: "start the run first"}
	}
	return s.sample(ctx, session)
}

// End drops the run.
func (s *sampler[O]) End(context.Context) error {
	s.sample = nil
	return nil
}
