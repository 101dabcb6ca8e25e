package openinference

import (
	"context"
	"fmt"
	"sync"
)

// Report is what `mdmhost runtime check` says of one endpoint.
type Report struct {
	Endpoint string   `json:"endpoint"`
	Model    string   `json:"model"` // its name there
	Inputs   []string `json:"inputs,omitempty"`
	Outputs  []string `json:"outputs,omitempty"`
	MaxBatch int      `json:"max_batch,omitempty"` // most rows of a request, where the server says
	Problem  string   `json:"problem,omitempty"`   // why it cannot be used, or ""
}

// Check asks every endpoint for itself whether the model can be run there. The error is one of the options.
func Check(ctx context.Context, m Model, o Options) ([]Report, error) {
	if err := o.settle(&m); err != nil {
		return nil, err
	}
	f, err := dial(&o, &traffic{})
	if err != nil {
		return nil, err
	}
	defer f.close()
	f.check = func(s *signature) (*ports, error) { return findPorts(s, &m, o.Head) }
	out := make([]Report, len(f.endpoints))
	var asked sync.WaitGroup
	for i, e := range f.endpoints {
		asked.Go(func() {
			r := Report{Endpoint: e.address, Model: o.Model}
			p, err := f.ask(ctx, e)
			if err != nil {
				r.Problem = err.Error()
			} else {
				r.MaxBatch = p.maxBatch
				for _, in := range p.inputs {
					r.Inputs = append(r.Inputs, fmt.Sprintf("%s %s", in.name, in))
				}
				for _, one := range p.outputs {
					r.Outputs = append(r.Outputs, fmt.Sprintf("%s %s", one.name, one))
				}
			}
			out[i] = r
		})
	}
	asked.Wait()
	return out, ctx.Err()
}
