package host

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// edited are the changes of the logits that the settings ask for.
func (h *Host) edited(bad complain) sampling.Edits {
	s := &h.cfg.Sampling
	e := sampling.Edits{Repetition: float32(s.RepetitionPenalty), Left: float32(s.PenaltyLambda)}
	if s.CreditAlpha > 0 {
		e.Credit = sampling.Credit{Alpha: float32(s.CreditAlpha), Gamma: float32(s.CreditGamma), Beta: float32(s.CreditBeta)}
	}
	ids := h.model.Ends("eos_token_id")
	const nameless = "model %s names no end-of-text token; add eos_token_id to its config.json, or set sampling.suppress_tokens"
	if s.EOSPenalty > 0 && len(ids) == 0 {
		bad("eos_penalty", nameless, h.model.Name)
	}
	if s.LogitsEOSInf && len(ids) == 0 {
		bad("logits_eos_inf", nameless, h.model.Name)
	}
	if s.EOSPenalty > 0 {
		if pad := h.model.Config.Pad; pad >= 0 && pad != h.model.MaskID && !slices.Contains(ids, pad) {
			ids = append(ids, pad)
		}
		for _, id := range ids {
			e.Bias = append(e.Bias, sampling.Bias{Token: id, Value: -float32(s.EOSPenalty)})
		}
	}
	return e
}
