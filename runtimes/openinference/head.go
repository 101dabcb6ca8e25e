package openinference

import (
	"context"
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// head is what one run wants of every pass.
type head struct {
	spec    sampling.Head
	served  bool     // the graph computes the statistics; else sampling.Compute does, from logits
	outputs []string // that requests ask for
	passes  int      // rows of the model that each row takes: 2 with guidance
	atOne   string   // a statistic that the served head has at temperatures 0 and 1 alone, or ""
	banned  []bool   // [V] never written
}

// Configure implements [sampling.Denoiser]. The error names what the servers cannot compute.
func (d *Denoiser) Configure(ctx context.Context, spec sampling.Head) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.life.Err() != nil:
		return d.errClosed()
	case d.head != nil:
		return fmt.Errorf("model %s: Configure was called before; open the model again for another head", d.model.Name)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	h := &head{spec: spec, passes: 1, banned: make([]bool, d.model.V)}
	for _, id := range spec.Suppress {
		if id >= 0 && int(id) < d.model.V {
			h.banned[id] = true
		}
	}
	for _, c := range spec.Needs.VocabDot {
		if len(c) != d.model.V {
			return fmt.Errorf("needs vocab_dot: runtime openinference wants %d numbers a vector, one per token, and got %d", d.model.V, len(c))
		}
	}
	if spec.Guidance != 0 {
		h.passes = 2
	}
	if err := d.place(h); err != nil {
		return fmt.Errorf("model %s: %w", d.model.Name, err)
	}
	for name, is := range map[string]bool{insertionRate: spec.Needs.InsertionRate, unmaskRate: spec.Needs.UnmaskRate} {
		if is {
			h.outputs = append(h.outputs, name)
		}
	}
	slices.Sort(h.outputs[1:])
	d.head = h
	return nil
}

// checkRows refuses rows whose settings the served head cannot draw by.
func (h *head) checkRows(b *sampling.Batch) error {
	if !h.served {
		return nil
	}
	for i, p := range b.Params {
		if h.atOne != "" && p.Temperature != 0 && p.Temperature != 1 {
			return fmt.Errorf("row %d of the batch: the served statistics head has %s at temperatures 0 and 1 alone, and the row has %g; %s", i, h.atOne, p.Temperature, inGo)
		}
		if p.Temperature > 0 && (p.TopK > 0 || p.TopP > 0 && p.TopP < 1 || p.MinP > 0) {
			return fmt.Errorf("row %d of the batch: the served statistics head has no top-k, top-p or min-p; %s", i, inGo)
		}
	}
	return nil
}
