package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/nearest"
)

// plannedHelp explains --bound.
const plannedHelp = `--bound asks for the law of a planned sampler instead of the trainer's bound, whose sampler writes in random order; --planner then names
a planner of the bound, and what is printed is -log p, so that the parts are the negatives of the papers':
  p2     P2's expanded bound, E_D + E_MP + E_UP, of the chain that may revise. Planners: self (default), the denoiser itself;
         keep, which never revises; ancestral, without a planner, where it is E_D; network, a masked language model or a trained
         planner, named with --set planner.network=DIR (planner.mask_score=network lets it judge proposals, too). A forward a draw.
  pelbo  P-ELBO, E1 + E2, of one position a step. Planners: greedy (default) and p2_topk (planner.eta), which are exact with a forward a
         position; uniform, and soft_greedy (planner.tau), with as many forwards a draw. Corollaries A.8, A.9 and A.13 stand beside it.
         --exact adds -log p of the sampler itself.
They are bounds of different samplers (kind path bound): none is to be compared with another's, nor with the trainer's.
mdmhost sample draws so with --planner p2: greedy is planner.unmask_score=keep, soft_greedy planner.planner_temperature as well, p2_topk
planner.eta_mode=paper; uniform is --planner random.`

// bound is the flag --bound.
type bound struct{ name string }

func boundFlag(c *cobra.Command) *bound {
	b := &bound{}
	c.Flags().StringVar(&b.name, "bound", "", "bound of a planned sampler: "+strings.Join(train.PlannedBounds(), " or "))
	return b
}

// check refuses an unknown bound, and flags that mean nothing with one.
func (b *bound) check(c *cobra.Command, without ...string) error {
	if !slices.Contains(train.PlannedBounds(), b.name) {
		return usagef("--bound: no bound %q%s", b.name, nearest.DidYouMean(b.name, train.PlannedBounds()))
	}
	for _, flag := range without {
		if c.Flags().Changed(flag) {
			return usagef("--%s: does not go with --bound; leave one of them out", flag)
		}
	}
	return nil
}

// loadBound merges all sources, of which the planner is one of a bound's own list, checked with the bound.
func (s *settings) loadBound() (*config.Config, error) {
	cfg, err := s.load()
	var problems config.Problems
	if err != nil && (!errors.As(err, &problems) || cfg == nil) {
		return nil, err
	}
	if err := findModel(cfg); err != nil {
		problems = append(problems, config.Problem{Origin: cfg.Origin("model"), Key: "model", Text: err.Error()})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return cfg, nil
}
