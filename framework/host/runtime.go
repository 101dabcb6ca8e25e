package host

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// openRuntime opens the denoiser in the runtime that the configuration names.
func (h *Host) openRuntime(ctx context.Context) error {
	d, err := h.openDenoiser(ctx, backend.Source(h.model))
	if err != nil {
		return err
	}
	h.denoiser, h.notes = d, d.Notes()
	return nil
}

func (h *Host) openDenoiser(ctx context.Context, source onnx.Model) (*onnx.Denoiser, error) {
	options := backend.Options(h.cfg.Runtime)
	options.LogitsMemory = func(bytes int) ([]float32, error) { return h.memory.Floats((bytes + 3) / 4) }
	return onnx.Open(ctx, source, options)
}
