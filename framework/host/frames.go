package host

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// companions are settings that say more of another one, without which they would be given in vain. Presets and models may
// hold them for those who switch the other on.
var companions = []struct {
	key, with string
	acts      func(*config.Sampling) bool
}{
	{"block_align", "sampling.block_length", func(s *config.Sampling) bool { return s.BlockLength > 0 }},
	{"cfg_keep_tokens", "sampling.cfg_scale", func(s *config.Sampling) bool { return s.CFGScale > 0 }},
	{"credit_beta", "sampling.credit_alpha", func(s *config.Sampling) bool { return s.CreditAlpha > 0 }},
	{"credit_gamma", "sampling.credit_alpha", func(s *config.Sampling) bool { return s.CreditAlpha > 0 }},
	{"stop_at", "sampling.stop or sampling.eos_early_stop", func(s *config.Sampling) bool { return len(s.Stop) > 0 || s.EOSEarlyStop }},
	{"top_p_rule", "sampling.top_p", func(s *config.Sampling) bool { return s.TopP < 1 }},
}

// framed is what lies around the steps of a loop: blocks, stop rules, bounds and padding.
func (h *Host) framed(bad complain) (c sampling.LoopConfig) {
	s := &h.cfg.Sampling
	c.Blocks = sampling.Blocks{Length: s.BlockLength, Absolute: s.BlockAlign == "absolute"}
	c.Growth, c.FromZero = h.grows(bad), *h.model.Manifest.Time.NoiseAt == 0
	c.MaxNFE, c.PadTo, c.Memory = s.MaxNFE, s.PadTo, s.CreditAlpha > 0
	if most := h.model.MaxLength; most > 0 && s.PadTo > most {
		bad("pad_to", "expected at most %d, the model's longest row, found %d; lower it", most, s.PadTo)
	}
	c.Guidance = h.guidance(bad)
	eos := h.model.Ends("eos_token_id")
	c.Stop = sampling.Stop{Phrases: s.Stop, AtEnd: s.StopAt == "end",
		Decode: func(tokens []int32) string { return h.model.Tokenizer.Decode(tokens, false) }} // a phrase may be a special token
	if slices.Contains(s.Stop, "") {
		bad("stop", "expected phrases, found an empty one; leave it out")
	}
	if s.EOSEarlyStop {
		if c.Stop.EOS = eos; len(eos) == 0 {
			bad("eos_early_stop", "model %s names no end-of-text token; add eos_token_id to its config.json, or end rows by phrases with sampling.stop", h.model.Name)
		} else if !h.mayWrite(eos) {
			bad("eos_early_stop", "expected an end-of-text token that may be written, and %v may not; take it out of sampling.suppress_tokens (%s)", eos, h.cfg.Origin("sampling.suppress_tokens"))
		}
	}
	for _, idle := range companions {
		if layer := h.cfg.Origin("sampling." + idle.key).Layer; (layer == config.LayerEnv || layer == config.LayerFlag) && !idle.acts(s) {
			bad(idle.key, "acts only together with %s; set that, or leave it out", idle.with)
		}
	}
	h.ids(bad, "begin_suppress_tokens", s.BeginSuppressTokens)
	c.HoldBack = slices.Clone(s.BeginSuppressTokens)
	if s.ConfidenceEOSEOTInf {
		ends := append(eos, h.model.Ends("eot_token_id")...)
		if c.HoldBack = append(c.HoldBack, ends...); len(ends) == 0 {
			bad("confidence_eos_eot_inf", "model %s names neither an end-of-text nor an end-of-turn token; add eos_token_id or eot_token_id to its config.json, or list the ids in sampling.begin_suppress_tokens", h.model.Name)
		} else if !h.mayWrite(ends) {
			bad("confidence_eos_eot_inf", "expected a token that may be written, and %v may not; take it out of sampling.suppress_tokens (%s), or leave this out", ends, h.cfg.Origin("sampling.suppress_tokens"))
		}
	}
	return c
}
