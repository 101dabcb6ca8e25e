package backend

import (
	"context"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/openvino"
)

// openVINO opens the model in OpenVINO.
func openVINO(ctx context.Context, r config.Runtime, m *model.Model, o Options) (Denoiser, error) {
	source, options := Source(m), OpenVINO(r)
	if o.Graph != nil {
		source.Data = o.Graph
	}
	options.LogitsMemory = o.LogitsMemory
	return openvino.Open(ctx, source, options)
}

// OpenVINO are the settings of the section runtime for OpenVINO.
func OpenVINO(r config.Runtime) openvino.Options {
	o := openvino.Options{Library: r.Library, Provider: r.Provider, Threads: r.Threads, Head: r.Head, Properties: r.ProviderOptions, Warmup: r.Warmup}
	if o.Head == "auto" {
		o.Head = ""
	}
	return o
}
