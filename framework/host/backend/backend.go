// Package backend says how the configuration's runtime runs a model: the one place where settings and model directories
// become what package onnx takes.
package backend

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Source is a model as the runtime takes it.
func Source(m *model.Model) onnx.Model {
	return onnx.Model{Name: m.Name, Data: m.ONNX, Dir: m.ONNXDir(), MaskID: m.MaskID, PadID: m.PadID, V: m.V, LogitsShift: m.Manifest.LogitsShift}
}

// Options are the settings of the section runtime, the same for every model of a run.
func Options(r config.Runtime) onnx.Options {
	o := onnx.Options{Library: r.Library, LibraryDirs: r.LibraryDirs, Provider: r.Provider, Device: r.Device, Threads: r.Threads, Head: r.Head,
		SessionConfig: r.SessionConfig, Optimize: r.Optimize, NoArena: !r.Arena, Warmup: r.Warmup}
	if o.Head == "auto" {
		o.Head = ""
	}
	return o
}

// Suppressed is what a run may never write: the mask, ids without a token, and those of the settings.
func Suppressed(s config.Sampling, m *model.Model) []int32 {
	ids := s.SuppressTokens
	if s.LogitsEOSInf {
		ids = append(slices.Clone(ids), m.Ends("eos_token_id")...)
	}
	return m.SuppressWith(ids)
}
