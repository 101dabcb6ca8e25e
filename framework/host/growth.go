package host

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// insertionSampler is the first-party sampler whose rows grow.
const insertionSampler = "insertion"

// WithModel returns the configuration with what the model itself sets: its generation_config.json, and the sampler of its family.
func WithModel(cfg *config.Config, m *model.Model) (*config.Config, error) {
	return WithManifest(cfg, m.Name, m.Manifest, m.GenerationConfig)
}

// WithManifest is [WithModel] for a model that is known by its name, mdm.json and generation_config.json alone.
// Where settings are wrong it returns them with the problems.
func WithManifest(cfg *config.Config, name string, m *model.Manifest, generation []byte) (_ *config.Config, err error) {
	if m.Family == "insertion" {
		cfg, err = cfg.WithDefault("sampler.name", insertionSampler) // a configuration with problems, too, so that all are told together
	}
	if cfg == nil || len(generation) == 0 {
		return cfg, err
	}
	return cfg.WithModel(name+"/generation_config.json", generation)
}

// grows is how rows of an insertion model grow, nil of other models. bad takes the settings that do not go with rows that grow.
func (h *Host) grows(bad complain) *sampling.Growth {
	m, s := h.model, &h.cfg.Sampling
	if !m.Insertion() {
		return nil
	}
	for _, c := range []struct {
		key string
		is  bool
		why string
	}{
		{"block_length", s.BlockLength > 0, "they grow anywhere and have no blocks"},
		{"stop", len(s.Stop) > 0, "their text is whole after the last step alone"},
		{"eos_early_stop", s.EOSEarlyStop, "their end is there from the start"},
		{"pad_to", s.PadTo > 0, "the model sees how long they are"},
		{"credit_alpha", s.CreditAlpha > 0, "credits go by position, and positions move"},
		{"cfg_scale", s.CFGScale > 0, "rates of gaps have no guided form"},
	} {
		if c.is {
			bad(c.key, "does not go with model %s, whose rows grow: %s; leave it out", m.Name, c.why)
		}
	}
	return &sampling.Growth{Gap: m.Manifest.Gap, Cap: m.MaxLength, A: m.ClockExponent()}
}

// decides tells whether the sampler makes all decisions itself, as those of rows that grow do: no planner is started or asked.
func (h *Host) decides() bool { return h.sampler.desc.CanInsert }

// remasks tells whether written positions may be masked again: the planner's choice, where it is asked.
func (h *Host) remasks() bool { return h.planner.desc.CanRemask && !h.decides() }

// checkSampler refuses a sampler that cannot let rows grow for a model whose rows do.
func (h *Host) checkSampler() error {
	if !h.model.Insertion() || h.decides() {
		return nil
	}
	return &sampling.Error{Code: sampling.InvalidConfig, Object: "sampler " + h.sampler.name,
		Problem: fmt.Sprintf("leaves rows as long as they are, and model %s is of family insertion, whose rows grow", h.model.Name),
		Hint:    "use --sampler " + insertionSampler}
}

// serveGrowth sets what the run serves beside the runtime where rows grow: frozen gaps and unmask rates of 1 are the loop's, and what
// goes by position from pass to pass is not to be had.
func (h *Host) serveGrowth(caps *sampling.Capabilities) {
	if h.model.Insertion() {
		caps.Serves.FrozenGap, caps.Serves.UnmaskRate = true, true
		caps.Serves.KLPrev, caps.Serves.LogpLeaveOneOut = false, false
	}
}
