package host

import (
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// observe adds the statistics that details and traces show, where no plugin asked for them. Plugins do not see them and
// tokens do not depend on them; they cost what the statistics head takes for them. What the runtime cannot serve is left out
// with a note.
func (h *Host) observe(needs *sampling.Needs) {
	var more sampling.Needs
	if needs.LogpProposal == sampling.NotNeeded && (h.cfg.Details || h.cfg.Trace != "") {
		more.LogpProposal = sampling.OnModel
	}
	if needs.Entropy == sampling.NotNeeded && h.cfg.Trace != "" {
		more.Entropy = sampling.OnModel
	}
	caps := h.denoiser.Capabilities()
	if missing := caps.Missing(more); len(missing) == 0 {
		needs.LogpProposal, needs.Entropy = max(needs.LogpProposal, more.LogpProposal), max(needs.Entropy, more.Entropy)
	} else {
		h.notes = append(h.notes, "the runtime cannot serve "+strings.Join(missing, ", ")+"; details and trace go without")
	}
	h.observed = *needs
}

// Observed returns the statistics that the run's head computes, which details and traces show.
func (h *Host) Observed() sampling.Needs { return h.observed }

// Growth says how rows grow; nil of models whose rows keep their length.
func (h *Host) Growth() *sampling.Growth { return h.frame.Growth }
