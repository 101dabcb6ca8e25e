// Package gillespie samples one coordinate at a time: the jump chain of a masked diffusion model (MDM Gillespie, PAPL
// Algorithm 3) and of path planning (P2 Gillespie, P2 Algorithm 5), whose laws theory speaks of. A pass draws a token for
// every masked position and one position to change. A masked one takes its token. A written one is masked, and drawn
// anew from what the model says of the row without it, in a pass of its own.
package gillespie

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// Options of the sampler "gillespie". The defaults are MDM Gillespie, which unmasks as ancestral sampling in the limit of
// many steps does.
type Options struct {
	MaskScore   string `option:"mask_score" default:"uniform" enum:"uniform,denoiser,margin,neg_entropy" help:"G_M, the weight of a masked position: uniform = 1; denoiser = probability of its proposal; margin = p1 - p2; neg_entropy = exp(-H)"`
	UnmaskScore string `option:"unmask_score" default:"keep" enum:"keep,denoiser,margin,neg_entropy" help:"G_U; the weight of a written position, to be drawn anew, is 1 - G_U: keep = never; denoiser = probability of its token; the others as in mask_score. All but keep need a planner that can remask, such as p2, and more steps than blanks: drawing anew takes two"`
}

// New returns the sampler. The planner is not asked. The steps of a row are a cap: at the last one the rest opens at once.
func New() sampling.Sampler {
	return sdk.NewSampler("gillespie", build, sdk.Needs(sdk.Proposal, sdk.Uniform, sdk.LogpProposal, sdk.LogpCurrent, sdk.P1, sdk.P2, sdk.Entropy),
		sdk.NeedsFor(needs), sdk.Adaptive(), sdk.Version("1.0.0"),
		sdk.Summary("one position a step, drawn by weight; written ones may be drawn anew (MDM and P2 Gillespie)"))
}

func needs(o Options) sampling.Needs {
	n := sampling.Needs{Uniform: true, Proposal: o.UnmaskScore != "keep",
		LogpCurrent: o.UnmaskScore == "denoiser"}
	if o.MaskScore == "denoiser" {
		n.LogpProposal = sampling.OnModel
	}
	for _, kind := range []string{o.MaskScore, o.UnmaskScore} {
		switch kind {
		case "margin":
			n.P1, n.P2 = true, true
		case "neg_entropy":
			n.Entropy = sampling.OnModel
		}
	}
	return n
}

func build(o Options, run sampling.Run) (sdk.SampleFunc, error) {
	if o.UnmaskScore != "keep" && run.KeepsWritten {
		return nil, errKept
	}
	return func(ctx context.Context, s sampling.Session) error {
		return drive(ctx, s, &chain{weights: weightsOf(o), anew: map[int]int32{}})
	}, nil
}

// errKept refuses to draw written positions anew where the host looks at masked ones alone.
var errKept = &sampling.Error{Code: sampling.InvalidConfig, Object: "sampler gillespie",
	Problem: "unmask_score draws written positions anew, but the planner cannot remask, so that the host looks at masked ones alone",
	Hint:    "take a planner that remasks, such as --planner p2, or set sampler.unmask_score to keep"}

// drive steps all rows together, each by one pass and one decision of the chain.
func drive(ctx context.Context, s sampling.Session, c *chain) error {
	var rows []sampling.Advance
	var decisions []sampling.Decision
	return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
		rows = rows[:0]
		for _, r := range active {
			rows = append(rows, sdk.ByMasks(r))
		}
		step, err := s.Denoise(ctx, rows)
		if err != nil {
			return nil, err
		}
		decisions = decisions[:0]
		for i := range step.Rows {
			d, err := c.decide(&step.Rows[i])
			if err != nil {
				return nil, err
			}
			decisions = append(decisions, d)
		}
		after, err := s.Apply(ctx, decisions)
		c.forget(after)
		return after, err
	})
}
