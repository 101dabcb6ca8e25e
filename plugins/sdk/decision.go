package sdk

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Decision is what a planner decides for one row. The zero value changes nothing. Every verb returns the decision with
// one thing more: r.Open(a).Remask(b). Positions are those before the step; the host applies overwrite and open, then
// remask, then delete, then insert.
type Decision struct{ d sampling.Decision }

// Open writes the host's proposals at masked positions.
func (d Decision) Open(ps Positions) Decision {
	d.d.Open = join(d.d.Open, ps)
	return d
}

// Remask masks written positions again.
func (d Decision) Remask(ps Positions) Decision {
	d.d.Remask = join(d.d.Remask, ps)
	return d
}

// Delete removes positions; insertion models only.
func (d Decision) Delete(ps Positions) Decision {
	d.d.Delete = join(d.d.Delete, ps)
	return d
}

// join appends without touching memory that the first list does not own.
func join(list []int32, ps Positions) []int32 {
	if len(list) == 0 {
		return ps.at
	}
	return append(list[:len(list):len(list)], ps.at...)
}

// Overwrite puts a token of the planner's choice at a position.
func (d Decision) Overwrite(position int, token int32) Decision {
	d.d.Overwrite = append(d.d.Overwrite, sampling.Write{Position: int32(position), Token: token})
	return d
}

// OverwriteWith is [Decision.Overwrite] for many positions: token returns what a position gets.
func (d Decision) OverwriteWith(ps Positions, token func(i int) int32) Decision {
	writes := slices.Grow(d.d.Overwrite, ps.Len())
	for _, i := range ps.Indices() {
		writes = append(writes, sampling.Write{Position: i, Token: token(int(i))})
	}
	d.d.Overwrite = writes
	return d
}

// Insert puts count new masks into a gap: gap g lies before position g. Insertion models only.
func (d Decision) Insert(gap, count int) Decision {
	d.d.Insert = append(d.d.Insert, sampling.Insertion{Gap: int32(gap), Count: int32(count)})
	return d
}

// Refused tells that the step would have inserted count masks more if the row had had room for them: it ends with finish length.
func (d Decision) Refused(count int) Decision {
	d.d.Refused += count
	return d
}

// Fill opens every eligible position at once.
func (d Decision) Fill(f sampling.Fill) Decision {
	d.d.Fill = f
	return d
}

// ActAs says that the steps up to the given one would have changed nothing, so that the row goes on after it.
func (d Decision) ActAs(step int) Decision {
	d.d.ActedAs = step
	return d
}

// NextT sets the time at which the row goes on.
func (d Decision) NextT(t float64) Decision {
	d.d.NextT = t
	return d
}

// Done finishes the row, even with masks left.
func (d Decision) Done() Decision {
	d.d.Done = true
	return d
}

// GoOn keeps a row whose last mask is opened: it is not finished before its last step, as long as every decision says so.
// For planners that revise full rows.
func (d Decision) GoOn() Decision {
	d.d.GoOn = true
	return d
}

// Metric records a number for traces; the name is the planner's own.
func (d Decision) Metric(name string, value float64) Decision {
	m := make(map[string]float64, len(d.d.Metrics)+1)
	for k, v := range d.d.Metrics {
		m[k] = v
	}
	m[name] = value
	d.d.Metrics = m
	return d
}

// Sampling returns the decision as the host sees it; its slices are valid during the call only.
func (d Decision) Sampling() sampling.Decision { return d.d }

// copyInto moves the decision to the host's memory, which outlives the row's.
func (d Decision) copyInto(out *sampling.Decision) {
	to := *out
	*out = d.d
	out.Open = append(to.Open[:0], d.d.Open...)
	out.Overwrite = append(to.Overwrite[:0], d.d.Overwrite...)
	out.Remask = append(to.Remask[:0], d.d.Remask...)
	out.Delete = append(to.Delete[:0], d.d.Delete...)
	out.Insert = append(to.Insert[:0], d.d.Insert...)
}
