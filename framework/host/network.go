package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/scorer"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// openNetwork opens the planner's own network, if one is named.
func (h *Host) openNetwork(ctx context.Context) (err error) {
	if h.cfg.Planner.Network != "" {
		h.network, err = scorer.Open(ctx, h.cfg, h.model)
	}
	return err
}

// settle lets the network and the plugins agree: who needs planner_score has a network, and a network is there for somebody.
func (h *Host) settle(needs ...sampling.Needs) error {
	if h.network == nil || slices.ContainsFunc(needs, func(n sampling.Needs) bool { return n.PlannerScore }) {
		return nil
	}
	return &sampling.Error{Code: sampling.InvalidConfig, Object: fmt.Sprintf("planner.network (%s)", h.cfg.Origin("planner.network")),
		Problem: fmt.Sprintf("planner %s with these options reads no scores of a network", h.planner.name),
		Hint:    "leave it out, or choose a planner that does, such as p2 with planner.unmask_score bert or trained"}
}

// Fits refuses rows that are longer than the planner's network can read, before anything is sampled.
func (h *Host) Fits(rows []sampling.Request) error {
	if h.network == nil {
		return nil
	}
	return h.network.Fits(rows)
}

// scorer is the network as the step loop takes it: a nil interface, not one that holds nil, where there is none.
func (h *Host) scorer() sampling.Scorer {
	if h.network == nil {
		return nil
	}
	return h.network
}

// Network returns the model of the planner's own network, or nil.
func (h *Host) Network() *model.Model {
	if h.network == nil {
		return nil
	}
	return h.network.Model()
}
