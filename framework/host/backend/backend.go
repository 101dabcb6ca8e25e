// Package backend says how the configuration's runtime runs a model: the one place where settings and model directories
// become what the packages of runtimes take.
package backend

import (
	"context"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/replay"
)

// Denoiser is an opened model in any runtime.
type Denoiser interface {
	sampling.Denoiser
	// Notes are what a user should know of the choice, such as why `auto` runs on the CPU.
	Notes() []string
}

// Options are what the host, not the user, decides about a denoiser.
type Options struct {
	// Graph takes the place of the model's ONNX file; nil keeps that.
	Graph []byte
	// LogitsMemory gives the memory in which logits cross to plugins, of at least so many bytes; nil lets the runtime take its own.
	LogitsMemory func(bytes int) ([]float32, error)
	// Rows is the most rows of a batch; 0 is one.
	Rows int
}

// Open opens the model in the runtime that r names. The error says what is missing and what to do.
func Open(ctx context.Context, r config.Runtime, m *model.Model, o Options) (Denoiser, error) {
	switch r.Kind {
	case config.KindONNX:
		return openONNX(ctx, r, m, o)
	case config.KindOpenInference:
		return openInference(ctx, r, m, o)
	case config.KindOpenVINO:
		return openVINO(ctx, r, m, o)
	case config.KindReplay:
		return replay.Open(r.Recording, replay.Model{Name: m.Name, MaskID: m.MaskID, V: m.V}, replay.Options{LogitsMemory: o.LogitsMemory})
	}
	return nil, fmt.Errorf("runtime %s: this program has none of that kind; `mdmhost runtime list` shows those that it has", r.Kind)
}

// Source is a model as ONNX Runtime takes it.
func Source(m *model.Model) onnx.Model {
	return onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V, LogitsShift: m.Manifest.LogitsShift}
}

// ONNX are the settings of the section runtime for ONNX Runtime, the same for every model of a run.
func ONNX(r config.Runtime) onnx.Options {
	o := onnx.Options{Library: r.Library, LibraryDirs: r.LibraryDirs, Provider: r.Provider, Device: r.Device[0], Threads: r.Threads, Head: r.Head,
		SessionConfig: r.SessionConfig, ProviderLibrary: r.ProviderLibrary, ProviderOptions: r.ProviderOptions, CUDAGraph: r.CUDAGraph, Optimize: r.Optimize, NoArena: !r.Arena, Warmup: r.Warmup}
	if o.Head == "auto" {
		o.Head = ""
	}
	return o
}

// Local refuses runtimes that only answer sampling, for commands that run graphs of their own: training, bounds, scores and the networks of
// planners.
func Local(cfg *config.Config, what string) error {
	if kind := cfg.Runtime.Kind; kind != config.KindONNX {
		return config.Problems{{Origin: cfg.Origin("runtime.kind"), Key: "runtime.kind", Text: fmt.Sprintf("%s runs graphs of its own, which the runtime %s cannot; add --runtime %s", what, kind, config.KindONNX)}}
	}
	return nil
}

// Suppressed is what a run may never write: the mask, ids without a token, and those of the settings.
func Suppressed(s config.Sampling, m *model.Model) []int32 {
	ids := s.SuppressTokens
	if s.LogitsEOSInf {
		ids = append(slices.Clone(ids), m.Ends("eos_token_id")...)
	}
	return m.SuppressWith(ids)
}
