package openinference

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

const (
	inGo   = "set runtime.head=go to compute it here from the logits, which then cross the network"
	choose = "choose other settings, or another planner or other options of it"
)

// place decides where the statistics of a run are computed, and lists the outputs that requests ask for. Where [HeadAuto] takes logits, a
// note says why, and what they weigh. The error is why neither place can be had, or not the one that was chosen.
func (d *Denoiser) place(h *head) error {
	columns, odd := columnsOf(&h.spec.Needs)
	served, here := d.notServed(&h.spec), d.notHere(&h.spec)
	switch d.options.Head {
	case HeadServed:
		if served != "" {
			return fmt.Errorf("%s; %s", served, inGo)
		}
	case HeadGo:
		if here != "" {
			return fmt.Errorf("%s; %s", here, choose)
		}
	default:
		if served == "" && odd != "" && h.spec.Tempered {
			served = fmt.Sprintf("the served statistics head has %s at temperatures 0 and 1 alone, and rows may have others", odd)
		}
		if served != "" && here != "" {
			return fmt.Errorf("runtime.head=auto: %s, and %s; serve `mdmhost export --to onnx --head statistics` with its logits, or %s", served, here, choose)
		}
	}
	if h.served = d.options.Head != HeadGo && served == ""; h.served {
		h.outputs, h.atOne = append([]string{proposal}, columns...), odd
		return nil
	}
	if h.outputs = []string{logits}; d.options.Head == HeadAuto {
		d.notes = append(d.notes, d.noteLogits(served, h.passes))
	}
	return nil
}

// notServed says what the served head lacks for a run, or "".
func (d *Denoiser) notServed(spec *sampling.Head) string {
	lacks := func(what string) string { return "the served statistics head has no " + what }
	if !d.ports.hasHead() {
		return fmt.Sprintf("the servers have no statistics head (inputs %s and %s, output %s)", temperature, uniform, proposal)
	}
	c := d.capabilities(false)
	if missing := c.Missing(spec.Needs); len(missing) > 0 {
		return lacks(missing[0])
	}
	switch {
	case spec.Filter:
		return lacks("top-k, top-p or min-p (sampling.top_k, sampling.top_p, sampling.min_p)")
	case spec.Guidance != 0:
		return lacks("guidance (sampling.cfg_scale)")
	case !spec.Edits.None():
		return lacks("edits of logits, such as penalties and credits")
	case spec.Draw != sampling.DrawInverseCDF:
		return lacks("draw with Gumbel noise (sampling.draw)")
	case !sameIDs(spec.Suppress, d.model.Suppress):
		return lacks(fmt.Sprintf("tokens never written but the %d that an export of this model has (sampling.suppress_tokens): the settings want %d", len(d.model.Suppress), len(spec.Suppress)))
	}
	return ""
}

// notHere says what keeps the statistics of a run from being computed here, or "".
func (d *Denoiser) notHere(spec *sampling.Head) string {
	if !d.ports.has(logits) {
		return fmt.Sprintf("the servers give no logits (output %s)", logits)
	}
	c := d.capabilities(true)
	if missing := c.Missing(spec.Needs); len(missing) > 0 {
		return fmt.Sprintf("%s cannot be computed from what the servers give", missing[0])
	}
	return ""
}

// noteLogits tells why logits cross the network, and how many bytes they are.
func (d *Denoiser) noteLogits(why string, passes int) string {
	position := 4 * d.model.V * passes
	note := fmt.Sprintf("runtime.head auto: statistics are computed here, from logits, because %s; they cross the network with %d bytes a position", why, position)
	length := d.ports.length
	if length == 0 {
		length = d.model.Length
	}
	if length > 0 {
		note += fmt.Sprintf(", up to %d a row and step", position*length)
	}
	return note
}

// columnsOf lists the outputs of the served head that hold what is needed beside proposals, and one of them that a run reads of another
// distribution than the model's, or "": without truncation that is the model's at temperature 1, and at 0 by definition.
func columnsOf(n *sampling.Needs) (columns []string, odd string) {
	for _, s := range []struct {
		name string
		is   bool
		on   sampling.On
	}{{logpProposal, n.LogpProposal != sampling.NotNeeded, n.LogpProposal}, {p1, n.P1, n.Peaks()}, {p2, n.P2, n.Peaks()}, {entropy, n.Entropy != sampling.NotNeeded, n.Entropy},
		{logpCurrent, n.LogpCurrent, sampling.OnModel}} {
		if !s.is {
			continue
		}
		if s.on != sampling.OnModel {
			odd = fmt.Sprintf("%s(on=%s)", s.name, s.on)
		}
		columns = append(columns, s.name)
	}
	return columns, odd
}

// sameIDs compares two sets.
func sameIDs(a, b []int32) bool {
	order := func(s []int32) []int32 {
		s = slices.Clone(s)
		slices.Sort(s)
		return slices.Compact(s)
	}
	return slices.Equal(order(a), order(b))
}
