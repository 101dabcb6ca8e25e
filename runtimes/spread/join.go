package spread

import (
	"fmt"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// join puts the statistics of the members together, laid out like the batch. Each part is there that the members give.
func (d *Denoiser) join(p *pass) (*sampling.Statistics, error) {
	to, n := &p.stats, p.batch.B
	to.Partial, to.Logits = true, nil
	clear(to.Failed)
	for _, w := range d.members {
		if len(w.rows) == 0 {
			continue
		}
		from := w.stats
		to.Partial = to.Partial && from.Partial
		take(&to.Proposal, from.Proposal, w.rows, n, 1)
		take(&to.LogpProposal, from.LogpProposal, w.rows, n, 1)
		take(&to.P1, from.P1, w.rows, n, 1)
		take(&to.P2, from.P2, w.rows, n, 1)
		take(&to.Entropy, from.Entropy, w.rows, n, 1)
		take(&to.LogpCurrent, from.LogpCurrent, w.rows, n, 1)
		take(&to.KLPrev, from.KLPrev, w.rows, n, 1)
		take(&to.TopIDs, from.TopIDs, w.rows, n, 1)
		take(&to.TopLogp, from.TopLogp, w.rows, n, 1)
		take(&to.LogpLeaveOneOut, from.LogpLeaveOneOut, w.rows, n, 1)
		take(&to.InsertionRate, from.InsertionRate, w.rows, n, 1)
		take(&to.UnmaskRate, from.UnmaskRate, w.rows, n, 1)
		take(&to.VocabDot, from.VocabDot, w.rows, n, len(d.head.Needs.VocabDot))
		take(&to.Failed, from.Failed, w.rows, n, 1)
		if from.Logits == nil {
			continue
		}
		if err := d.widen(n * p.batch.L * d.caps.V); err != nil {
			return nil, err
		}
		to.Logits = d.logits[:n*p.batch.L*d.caps.V]
		take(&to.Logits, from.Logits, w.rows, n, 1)
	}
	return to, nil
}

// take copies rows from what a member gave, [C, rows, ...], to where they belong in [C, B, ...], which is made where it is not there yet.
func take[T any](to *[]T, from []T, rows []int, b, c int) {
	if len(from) == 0 {
		return
	}
	width := len(from) / (c * len(rows))
	if *to == nil {
		*to = make([]T, c*b*width)
	}
	for k := range c {
		for i, r := range rows {
			at := k*len(rows) + i
			copy((*to)[(k*b+r)*width:(k*b+r+1)*width], from[at*width:(at+1)*width])
		}
	}
}

// widen makes sure that the memory for logits holds n numbers.
func (d *Denoiser) widen(n int) error {
	if len(d.logits) >= n {
		return nil
	}
	d.logits = nil
	if d.options.LogitsMemory == nil {
		d.logits = make([]float32, n)
		return nil
	}
	given, err := d.options.LogitsMemory(4 * n)
	if err != nil {
		return fmt.Errorf("memory for logits: %w", err)
	}
	if len(given) < n {
		return fmt.Errorf("memory for logits: %d numbers given, %d asked for", len(given), n)
	}
	d.logits = given
	return nil
}
