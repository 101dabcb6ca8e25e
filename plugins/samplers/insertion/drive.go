package insertion

import (
	"context"
	"math"

	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// driver steps all rows together, each on its own clock.
type driver struct {
	events
	grid insertion.Grid
	most float64         // of a rate times dU; 0 where steps lie on the grid
	at   map[int]float64 // by slot, where they do not: the clock that the row has come to
	tail bool            // the gap behind the row may grow
	rows []sampling.Advance
	made []sampling.Decision
}

func newDriver(o Options, g *sampling.Growth) *driver {
	d := &driver{events: events{Options: o}, most: o.MaxRateStep, at: map[int]float64{}, grid: insertion.Grid{Kind: o.Grid, A: 1, UMax: o.UMax}}
	if g != nil {
		d.grid.A, d.grows, d.tail = g.A, true, g.Gap != sampling.GapEOS
	}
	return d
}

func (d *driver) drive(ctx context.Context, s sampling.Session) error {
	return sdk.Drive(ctx, s, func(active []sampling.RowState) ([]sampling.RowState, error) {
		d.rows = d.rows[:0]
		for _, r := range active {
			if r.Step == 0 {
				delete(d.at, r.Slot) // whatever row was there
			}
			from, to := d.planned(r.Slot, r.Step, r.Steps)
			d.rows = append(d.rows, sampling.Advance{Slot: r.Slot, T: from.Left, S: to.Left, AlphaT: -math.Expm1(-from.U), AlphaS: -math.Expm1(-to.U)})
		}
		step, err := s.Denoise(ctx, d.rows)
		if err != nil {
			return nil, err
		}
		for len(d.made) < len(step.Rows) {
			d.made = append(d.made, sampling.Decision{})
		}
		for i := range step.Rows {
			d.made[i].Reset()
			d.step(&step.Rows[i], &d.made[i])
		}
		return s.Apply(ctx, d.made[:len(step.Rows)])
	})
}

// planned returns where the step of a row begins and where it ends if no rate is too large. The last step ends at t = 1, as it
// writes all that is left.
func (d *driver) planned(slot, step, steps int) (from, to insertion.Moment) {
	n := max(steps, 1)
	k := min(step, n-1)
	if from = d.grid.At(k, n); d.most > 0 {
		from = d.grid.AtClock(d.at[slot])
	}
	switch {
	case k == n-1 || d.most > 0 && d.at[slot] >= d.grid.End(n):
		return from, insertion.Moment{U: math.Inf(1)}
	case d.most > 0:
		return from, d.grid.AtClock(from.U + leap(0, d.grid.End(n)-from.U, d.most, n-1-k))
	}
	return from, d.grid.At(k+1, n)
}

// step decides for one row and moves its clock.
func (d *driver) step(r *sampling.Row, out *sampling.Decision) {
	from, to := d.planned(r.Slot, r.Step, r.Steps)
	free := gaps{rates: r.InsertionRate, frozen: r.FrozenGap, tail: d.tail}
	if math.IsInf(to.U, 1) {
		d.fill(out)
		return
	}
	end := math.Inf(1)
	if d.most > 0 {
		n := max(r.Steps, 1)
		end = d.grid.End(n)
		to = d.grid.AtClock(min(end, from.U+leap(fastest(r, &free), end-from.U, d.most, n-1-r.Step)))
		d.at[r.Slot] = to.U
	}
	masked := d.decide(r, &free, span{from, to, d.grid.A}, out)
	// Where nothing is masked and nothing can come any more the row is finished before its last step.
	if masked == 0 && len(out.Insert) == 0 && d.grows && (to.U >= end || !free.any() || r.Room == 0) {
		out.Done = true
	}
}
