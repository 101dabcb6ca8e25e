package host

import (
	"context"
	"slices"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// openRuntime opens the denoiser in the runtime that the configuration names.
func (h *Host) openRuntime(ctx context.Context) error { return h.openDenoiser(ctx, h.source(h.model)) }

func (h *Host) openDenoiser(ctx context.Context, source onnx.Model) error {
	options := h.runtimeOptions()
	options.LogitsMemory = func(bytes int) ([]float32, error) { return h.memory.Floats((bytes + 3) / 4) }
	d, err := onnx.Open(ctx, source, options)
	if err != nil {
		return err
	}
	h.denoiser, h.notes = d, d.Notes()
	return nil
}

// source is a model as the runtime takes it.
func (h *Host) source(m *model.Model) onnx.Model {
	return onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V, LogitsShift: m.Manifest.LogitsShift}
}

// runtimeOptions are those of every model of the run.
func (h *Host) runtimeOptions() onnx.Options {
	r := h.cfg.Runtime
	head := r.Head
	if head == "auto" {
		head = ""
	}
	return onnx.Options{
		Library: r.Library, Provider: r.Provider, Device: r.Device, Threads: r.Threads, Head: head, SessionConfig: r.SessionConfig,
		LibraryDirs: r.LibraryDirs, Optimize: r.Optimize, NoArena: !r.Arena, Warmup: r.Warmup,
	}
}

// suppressed is what may never be written: the mask, ids without a token, and those of the configuration.
func (h *Host) suppressed() []int32 {
	ids := h.cfg.Sampling.SuppressTokens
	if h.cfg.Sampling.LogitsEOSInf {
		ids = append(slices.Clone(ids), h.model.Ends("eos_token_id")...)
	}
	return h.model.SuppressWith(ids)
}
