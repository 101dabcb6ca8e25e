package host

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Scorer is the planner's own network outside a run.
type Scorer interface {
	sampling.Scorer
	Notes() []string // what the user should know of it
	Close() error
}

// OpenScorer opens planner.network beside a model, as [Open] does, for evaluations that need no plugin.
func OpenScorer(ctx context.Context, cfg *config.Config, m *model.Model) (Scorer, error) {
	h := &Host{cfg: cfg, model: m}
	if err := h.openNetwork(ctx); err != nil {
		if h.network != nil {
			_ = h.network.Close()
		}
		return nil, err
	}
	return h.network, nil
}

// Notes implements [Scorer].
func (n *network) Notes() []string { return n.notes }
