package host

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
)

// fit makes the section sampling the frame of the run's loops and the edits of its logits. The error, a [config.Problems],
// lists every setting that does not fit the model.
func (h *Host) fit() error {
	var problems config.Problems
	bad := func(key, format string, args ...any) {
		key = "sampling." + key
		problems = append(problems, config.Problem{Origin: h.cfg.Origin(key), Key: key, Text: fmt.Sprintf(format, args...)})
	}
	h.ids(bad, "suppress_tokens", h.cfg.Sampling.SuppressTokens)
	h.frame, h.edits = h.framed(bad), h.edited(bad)
	if problems == nil {
		return nil
	}
	return problems
}

// complain takes what is wrong with a key of the section sampling.
type complain func(key, format string, args ...any)

// ids holds a list of token ids against the vocabulary.
func (h *Host) ids(bad complain, key string, list []int32) {
	for _, id := range list {
		if int(id) >= h.model.V {
			bad(key, "id %d, expected 0 to %d; correct the list", id, h.model.V-1)
		}
	}
}

// mayWrite tells whether one of the tokens may be written.
func (h *Host) mayWrite(ids []int32) bool {
	suppressed := backend.Suppressed(h.cfg.Sampling, h.model)
	return slices.ContainsFunc(ids, func(id int32) bool { return !slices.Contains(suppressed, id) })
}
