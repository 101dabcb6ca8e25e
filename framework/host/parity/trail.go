package parity

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/trace"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// trail keeps what every step of a run did to its rows, as traces have it.
type trail struct {
	rows map[int64]*trace.Row
}

// Admitted implements [sampling.Observer].
func (t *trail) Admitted(f sampling.Frame) {
	t.rows[f.Index] = &trace.Row{Index: f.Index, Start: slices.Clone(f.Tokens)}
}

// Stepped implements [sampling.Observer].
func (t *trail) Stepped(f sampling.Frame) {
	e := sampling.TraceEvent{Event: sampling.TraceStep, Row: f.Index, Step: f.Step, Remasked: slices.Clone(f.Remasked), Deleted: slices.Clone(f.Deleted)}
	for _, in := range f.Inserted {
		e.Inserted = append(e.Inserted, [2]int32{in.Gap, in.Count})
	}
	shift := sampling.NewShift(len(f.Tokens)+len(f.Deleted)-inserted(f.Inserted), f.Deleted, f.Inserted)
	for _, p := range f.Opened {
		if to := shift.To[p]; to >= 0 {
			e.Opened = append(e.Opened, [2]int32{p, f.Tokens[to]})
		}
	}
	row := t.rows[f.Index]
	row.Steps = append(row.Steps, e)
}

// Finished implements [sampling.Observer].
func (t *trail) Finished(r sampling.Result) {
	t.rows[r.Index].End = &sampling.TraceEvent{Event: sampling.TraceEnd, Tokens: slices.Clone(r.Tokens), Finish: r.Finish}
}

func inserted(all []sampling.Insertion) (n int) {
	for _, in := range all {
		n += int(in.Count)
	}
	return n
}
