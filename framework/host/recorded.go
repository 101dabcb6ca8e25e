package host

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/runtimes/replay"
)

// takeRecorded takes the seed of the recorded run, whose noise the planner is to meet again. The proposals were drawn with the settings of that
// run, so that others are refused.
func (h *Host) takeRecorded() error {
	name := h.cfg.Runtime.Recording
	header, err := replay.Header(name)
	if err != nil {
		return err
	}
	var problems config.Problems
	if given := h.cfg.Seed; given != nil && *given != header.Seed {
		problems = append(problems, config.Problem{Origin: h.cfg.Origin("seed"), Key: "seed", Text: fmt.Sprintf("%d, and %s was recorded with seed %d; leave the seed out", *given, name, header.Seed)})
	}
	if id := header.MaskID; id != nil && *id != h.model.MaskID {
		return nil // the settings are of another model, which the runtime refuses
	}
	if header.Sampling == nil {
		return fmt.Errorf("runtime.recording %s: does not say what its tokens were drawn with; record it anew with `mdmhost sample --trace FILE --record`", name)
	}
	have := h.cfg.SamplingSettings()
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if was := header.Sampling[key]; was != have[key] {
			problems = append(problems, config.Problem{Origin: h.cfg.Origin(key), Key: key, Text: fmt.Sprintf("%s, and %s was recorded with %s; give the settings of the recorded run", text(have[key]), name, text(was))})
		}
	}
	if len(problems) > 0 {
		return problems
	}
	h.seed = header.Seed
	return nil
}

// text is a value as messages show it.
func text(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}
