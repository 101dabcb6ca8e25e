package train

import "github.com/mdmhost/mdmhost/framework/sampling"

// digests stand for what measures: the model, which is read whole, and the trainer where there is one.
func (g *gauge) digests() (map[string]string, error) {
	out := map[string]string{}
	var err error
	if out["model"], err = g.model.Digest(); err != nil {
		return nil, err
	}
	if g.trainer != nil {
		out["trainer"] = g.trainer.digest
	}
	return out, nil
}

// digests are those of the gauge, and that of the planner's own network.
func (k *planned) digests() (map[string]string, error) {
	out, err := k.gauge.digests()
	if err == nil && k.scorer != nil {
		out["planner network"], err = k.scorer.Model().Digest()
	}
	return out, err
}

// withSampler adds the plugins that write answers.
func (g *gauge) withSampler(digests map[string]string) (err error) {
	if digests["planner"], err = g.host.PluginDigest(sampling.KindPlanner, g.cfg.Planner.Name); err != nil {
		return err
	}
	digests["sampler"], err = g.host.PluginDigest(sampling.KindSampler, g.cfg.Sampler.Name)
	return err
}
