// Package masked is the sampler of masked diffusion models: one forward pass and one decision of the planner per step,
// rows replaced as soon as they are finished.
package masked

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/sdk/options"
)

// Options of the sampler "masked".
type Options struct {
	Grid string  `option:"grid" default:"linear" enum:"linear,cosine,mdlm,dream" help:"times of the steps, i from 0 to steps: linear = 1 - i/steps; cosine = cos(pi/2 i/steps), short steps while almost all is masked (MD4); mdlm = linspace(1, eps) and a last step to 0, which is MDLM's noise removal; dream = linspace(1, eps), where the last step opens the rest all the same. Planners with counts of their own (schedule) do not read the times"`
	Eps  float64 `option:"eps" default:"0" min:"0" max:"1" help:"smallest time of the grids mdlm and dream; 0 = their own, 1e-5 and 1e-3"`
}

// New returns the sampler. Until it is started it has the default options. Steps and counts follow from the row and the
// planner.
func New() sampling.Sampler { return &sampler{grid: linear} }

type sampler struct {
	grid grid
	rows []sampling.Advance
}

// Describe implements [sampling.Sampler].
func (*sampler) Describe(context.Context) (sampling.Description, error) {
	schema, err := options.Schema[Options]()
	return sampling.Description{
		Kind: sampling.KindSampler, Name: "masked", Version: "1.1.0",
		Summary:       "one forward pass and one planner decision per step, on a grid of times that may be chosen",
		OptionsSchema: string(schema),
	}, err
}

// Start implements [sampling.Sampler]. The sampler reads no statistics: they go from the runtime to the planner.
func (m *sampler) Start(_ context.Context, run sampling.Run) (sampling.Needs, error) {
	o, err := options.Parse[Options](run.Options)
	if err != nil {
		return sampling.Needs{}, &sampling.Error{Code: sampling.InvalidConfig, Object: "sampler masked", Problem: err.Error(),
			Hint: "`mdmhost plugin info masked` lists the options"}
	}
	m.grid = gridOf(o)
	return sampling.Needs{}, nil
}

// Sample implements [sampling.Sampler].
func (m *sampler) Sample(ctx context.Context, s sampling.Session) error {
	return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
		m.rows = m.rows[:0]
		for _, r := range active {
			m.rows = append(m.rows, m.grid.advance(r))
		}
		return s.Advance(ctx, m.rows)
	})
}

// End implements [sampling.Sampler].
func (*sampler) End(context.Context) error { return nil }
