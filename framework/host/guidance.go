package host

import "github.com/mdmhost/mdmhost/framework/sampling"

// guidance is classifier-free guidance as the settings have it. Without the prompt the model still sees the special tokens that
// mark where rows begin and end, and what the user keeps; bad takes what is wrong with the settings.
func (h *Host) guidance(bad complain) sampling.Guidance {
	s, m := &h.cfg.Sampling, h.model
	h.ids(bad, "cfg_keep_tokens", s.CFGKeepTokens)
	if s.CFGScale == 0 {
		return sampling.Guidance{}
	}
	if s.MaxNFE == 1 {
		bad("max_nfe", "expected at least 2 with sampling.cfg_scale, for a step is two forward passes; raise it")
	}
	prefix, suffix := m.Tokenizer.Template()
	keep := append(append(append([]int32{m.PadID, m.Config.BOS, m.Config.EOS}, prefix...), suffix...), s.CFGKeepTokens...)
	unknown, _ := m.Tokenizer.Unknown()
	for id := range int32(m.Tokenizer.Size()) {
		if m.Tokenizer.Special(id) && id != m.MaskID && id != unknown {
			keep = append(keep, id)
		}
	}
	return sampling.Guidance{On: true, Keep: keep}
}
