package host

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/host/config"
	transformer "github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// leavesOut tells whether the run can have logp_leave_one_out: from the model's file as it is, or, for the project's own
// networks, from the same that is written anew with the inputs that the statistic takes.
func (h *Host) leavesOut() bool {
	return h.denoiser.Capabilities().Serves.LogpLeaveOneOut || h.own()
}

func (h *Host) own() bool {
	m := h.model
	return h.cfg.Runtime.Kind == config.KindONNX && m.Config.ModelType == transformer.ModelType && m.Manifest.LogitsShift == 0 && m.Config.Raw["logits_shift"] != true && m.FixedLength() == 0
}

// openAlone opens the model's network with the inputs that logp_leave_one_out takes, where the needs have it and the file lacks
// them.
func (h *Host) openAlone(ctx context.Context, needs sampling.Needs) error {
	if !needs.LogpLeaveOneOut || h.denoiser.Capabilities().Serves.LogpLeaveOneOut {
		return nil
	}
	file, err := transformer.Biased(h.model)
	if err != nil {
		return fmt.Errorf("logp_leave_one_out: its inputs cannot be added to the network: %w", err)
	}
	if err := h.denoiser.Close(); err != nil {
		return err
	}
	d, err := h.openDenoiser(ctx, file.Encode())
	if err != nil {
		return err
	}
	h.denoiser = d
	return nil
}
