package host

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Digests stand for what makes the rows of this run, in hexadecimals: "model" and "planner network" as [model.Model.Digest] has them, "planner" and
// "sampler" as [Host.SamplerDigest] does. They read every byte of all of these.
func (h *Host) Digests() (map[string]string, error) {
	out := map[string]string{}
	var err error
	if out["model"], err = h.model.Digest(); err != nil {
		return nil, err
	}
	if m := h.Network(); m != nil {
		if out["planner network"], err = m.Digest(); err != nil {
			return nil, err
		}
	}
	if out["planner"], err = h.PlannerDigest(); err != nil {
		return nil, fmt.Errorf("planner %s: %w", h.cfg.Planner.Name, err)
	}
	if out["sampler"], err = h.SamplerDigest(); err != nil {
		return nil, fmt.Errorf("sampler %s: %w", h.cfg.Sampler.Name, err)
	}
	return out, nil
}

// PluginDigest stands for the code of the plugin of that name, as [Host.SamplerDigest] does for a sampler's.
func (o Options) PluginDigest(kind sampling.Kind, name string) (string, error) {
	launch, err := o.Spec(kind, name)
	if err != nil {
		return "", err
	}
	p := part[any]{attached: launch.Reattach != nil}
	if !p.attached && !slices.Contains(Names(kind), name) {
		if p.found, err = o.Locate(kind, name); err != nil {
			return "", err
		}
	}
	digest, err := p.digest()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", kind, name, err)
	}
	return digest, nil
}
