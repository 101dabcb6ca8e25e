package host

import (
	"cmp"
	"context"

	"github.com/mdmhost/mdmhost/framework/host/backend"
)

// openRuntime opens the denoiser in the runtime that the configuration names.
func (h *Host) openRuntime(ctx context.Context) error {
	d, err := h.openDenoiser(ctx, nil)
	if err != nil {
		return err
	}
	h.denoiser, h.noted = d, d.Notes
	return nil
}

// openDenoiser opens the model, or the graph in its place.
func (h *Host) openDenoiser(ctx context.Context, graph []byte) (backend.Denoiser, error) {
	d, err := backend.Open(ctx, h.cfg.Runtime, h.model, backend.Options{Graph: graph, Rows: cmp.Or(h.cfg.Batch, rowsOnCPU),
		LogitsMemory: func(bytes int) ([]float32, error) { return h.memory.Floats((bytes + 3) / 4) }})
	if err != nil || h.watch == nil {
		return d, err
	}
	return h.watch(d), nil
}
