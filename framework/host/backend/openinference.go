package backend

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/openinference"
)

// openInference opens the model on the servers that r names. A graph that takes the place of the model's is nothing that a server has.
func openInference(ctx context.Context, r config.Runtime, m *model.Model, o Options) (Denoiser, error) {
	if o.Graph != nil {
		return nil, fmt.Errorf("runtime %s: the run needs a graph that is made here, and servers run what they serve; choose --runtime %s, or a planner that does without", r.Kind, config.KindONNX)
	}
	source, options := OpenInference(r, m)
	options.LogitsMemory = o.LogitsMemory
	return openinference.Open(ctx, source, options)
}

// OpenInference is a model, and the settings of the section runtime, as servers of the Open Inference Protocol are asked.
func OpenInference(r config.Runtime, m *model.Model) (openinference.Model, openinference.Options) {
	source := openinference.Model{Name: m.Name, MaskID: m.MaskID, PadID: m.PadID, V: m.V, Length: m.MaxLength, Suppress: m.Suppress(), LogitsShift: m.Manifest.LogitsShift,
		AttentionMask: m.Signature.AttentionMask, Timesteps: m.Signature.Timesteps, InsertionRate: m.Signature.InsertionRate, UnmaskRate: m.Signature.UnmaskRate}
	options := openinference.Options{Endpoints: r.Endpoints, Model: cmp.Or(r.Model, filepath.Base(m.Name)), Version: r.ModelVersion, Head: r.Head, Timeout: time.Duration(r.Timeout * float64(time.Second)),
		Retries: r.Retries, TLS: openinference.TLS{CA: r.TLSCA, Cert: r.TLSCert, Key: r.TLSKey, Name: r.TLSName}, Headers: r.Headers}
	return source, options
}
