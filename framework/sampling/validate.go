package sampling

import (
	"fmt"
	"math"
)

// rules is what a decision is held against.
type rules struct {
	maskID    int32
	v         int            // writable ids lie below v
	forbidden map[int32]bool // suppressed ids, the mask among them
	canRemask bool
	grows     bool   // the model is of family insertion
	seen      []bool // scratch, one per window position
}

// check validates a decision for one row before anything of it is applied. A violation names the absolute position.
func (r *rules) check(row *Row, d *Decision) error {
	n := len(row.Token)
	if cap(r.seen) < n {
		r.seen = make([]bool, n)
	}
	seen := r.seen[:n]
	clear(seen)
	at := func(p int32, verb string) (Flags, error) {
		if p < 0 || int(p) >= n {
			return 0, fmt.Errorf("%s position %d, but the row's window has positions 0 to %d (%d to %d of the row)", verb, p, n-1, row.Offset, row.Offset+n-1)
		}
		abs := row.Offset + int(p)
		if row.Flags[p]&Fixed != 0 {
			return 0, fmt.Errorf("%s position %d, which is fixed (prompt, special or padding)", verb, abs)
		}
		if seen[p] {
			return 0, fmt.Errorf("names position %d twice in one step", abs)
		}
		seen[p] = true
		return row.Flags[p], nil
	}
	for _, p := range d.Open {
		f, err := at(p, "opens")
		if err != nil {
			return err
		}
		if f&Eligible == 0 {
			return fmt.Errorf("opens position %d, which is already written; overwrite or remask it instead", row.Offset+int(p))
		}
		if row.Proposal[p] < 0 {
			return fmt.Errorf("opens position %d, which has no proposal", row.Offset+int(p))
		}
	}
	for _, w := range d.Overwrite {
		if _, err := at(w.Position, "overwrites"); err != nil {
			return err
		}
		abs := row.Offset + int(w.Position)
		switch {
		case w.Token == r.maskID:
			return fmt.Errorf("writes the mask id %d at position %d; use remask to open it again", w.Token, abs)
		case w.Token < 0 || int(w.Token) >= r.v:
			return fmt.Errorf("writes token %d at position %d, but ids run from 0 to %d", w.Token, abs, r.v-1)
		case r.forbidden[w.Token]:
			return fmt.Errorf("writes token %d at position %d, which is suppressed", w.Token, abs)
		}
	}
	for _, p := range d.Remask {
		f, err := at(p, "remasks")
		if err != nil {
			return err
		}
		if f&Masked != 0 {
			return fmt.Errorf("remasks position %d, which is masked", row.Offset+int(p))
		}
		if !r.canRemask {
			return fmt.Errorf("remasks position %d, but it described itself with can_remask false", row.Offset+int(p))
		}
	}
	if len(d.Delete)+len(d.Insert)+d.Refused != 0 && !r.grows {
		return fmt.Errorf("inserts or deletes positions, which a model of family masked cannot do")
	}
	for _, p := range d.Delete {
		if _, err := at(p, "deletes"); err != nil {
			return err
		}
	}
	if d.Fill > FillDraw {
		return fmt.Errorf("asks for fill %d, but there are none, argmax and draw", d.Fill)
	}
	if d.ActedAs != 0 && (d.ActedAs < row.Step || d.ActedAs >= row.Steps) {
		return fmt.Errorf("acted as step %d, but the row is at step %d of %d", d.ActedAs, row.Step, row.Steps)
	}
	if math.IsNaN(d.NextT) || d.NextT < 0 || d.NextT > 1 {
		return fmt.Errorf("asks for next_t %v, but times lie in 0 to 1", d.NextT)
	}
	if d.Done && d.GoOn {
		return fmt.Errorf("asks to finish the row and to go on with it")
	}
	for k, v := range d.Metrics {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("reports metric %q as %v; report finite numbers", k, v)
		}
	}
	return nil
}
