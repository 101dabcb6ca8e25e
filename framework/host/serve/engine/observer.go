package engine

import (
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// observer hands steps to the answers that want them.
type observer struct{ *lane }

// Admitted implements [sampling.Observer].
func (o observer) Admitted(f sampling.Frame) {
	for len(o.slots) <= f.Slot {
		o.slots = append(o.slots, ref{})
	}
	o.mu.Lock()
	o.slots[f.Slot] = o.flying[f.Index]
	o.mu.Unlock()
}

// Stepped implements [sampling.Observer].
func (o observer) Stepped(f sampling.Frame) {
	if r := o.slots[f.Slot]; r.answer.steps {
		r.answer.stepped(r.row, &f)
	}
}

// Finished implements [sampling.Observer].
func (observer) Finished(sampling.Result) {}
