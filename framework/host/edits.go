package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// edits are the changes of the logits that the configuration asks for. The error lists every setting that needs what the
// model does not name.
func (h *Host) edits() (sampling.Edits, error) {
	s := &h.cfg.Sampling
	e := sampling.Edits{Repetition: float32(s.RepetitionPenalty), Left: float32(s.PenaltyLambda)}
	if s.CreditAlpha > 0 {
		e.Credit = sampling.Credit{Alpha: float32(s.CreditAlpha), Gamma: float32(s.CreditGamma), Beta: float32(s.CreditBeta)}
	}
	eos := h.model.Ends("eos_token_id")
	var problems []error
	check := func(key string, on bool) {
		if on && len(eos) == 0 {
			problems = append(problems, fmt.Errorf("%s (%s): model %s names no end-of-text token; add eos_token_id to its config.json, or set sampling.suppress_tokens",
				key, h.cfg.Origin(key), h.model.Name))
		}
	}
	check("sampling.eos_penalty", s.EOSPenalty > 0)
	check("sampling.logits_eos_inf", s.LogitsEOSInf)
	if s.EOSPenalty > 0 {
		ids := eos
		if pad := h.model.Config.Pad; pad >= 0 && pad != h.model.MaskID && !slices.Contains(ids, pad) {
			ids = append(ids, pad)
		}
		for _, id := range ids {
			e.Bias = append(e.Bias, sampling.Bias{Token: id, Value: -float32(s.EOSPenalty)})
		}
	}
	return e, errors.Join(problems...)
}
