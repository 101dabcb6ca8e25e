package plugintest

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// judge holds a decision against its row, records what it finds, and leaves in the decision what the host would take, so that one
// mistake does not hide the next.
func (s *session) judge(row *sampling.Row, d *sampling.Decision) {
	j := judgement{s: s, row: row, named: make([]bool, len(row.Token))}
	d.Open = slices.DeleteFunc(d.Open, func(p int32) bool { return !j.opens(p) })
	d.Overwrite = slices.DeleteFunc(d.Overwrite, func(w sampling.Write) bool { return !j.overwrites(w) })
	d.Remask = slices.DeleteFunc(d.Remask, func(p int32) bool { return !j.remasks(p) })
	if n := len(d.Delete) + len(d.Insert); n > 0 {
		j.find("insertion", "planners do not insert or delete: that is for samplers of insertion models, which decide with Denoise and Apply",
			"inserts at %d gaps and deletes %d positions of a row that keeps its length", len(d.Insert), len(d.Delete))
		d.Delete, d.Insert = nil, nil
	}
	d.Refused = 0
	j.times(d)
	for name, x := range d.Metrics {
		if !metricName.MatchString(name) {
			s.find(Warning, "metrics", "name metrics by letters, digits and ._:/-, such as calm.share", "row %d, step %d: reports a metric named %q %s", row.Index, row.Step, name, s.seeded())
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			j.find("metrics", "leave a metric out where there is no number, such as the mean of nothing", "reports metric %q as %v", name, x)
			d.Metrics = nil
			break
		}
	}
}

// metricName is what names of metrics look like in traces, tables and plots.
var metricName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

type judgement struct {
	s     *session
	row   *sampling.Row
	named []bool // positions that were named
}

func (j *judgement) find(check, fix, problem string, args ...any) {
	j.s.find(Error, check, fix, "row %d, step %d: %s %s", j.row.Index, j.row.Step, fmt.Sprintf(problem, args...), j.s.seeded())
}

// at looks at a position that is named by verb, and tells whether it may be touched.
func (j *judgement) at(p int32, verb string) bool {
	n := len(j.row.Token)
	switch {
	case p < 0 || int(p) >= n:
		j.find("positions", "positions are indices into the row's window, whatever its offset in the whole row", "%s position %d, but the window has positions 0 to %d", verb, p, n-1)
	case j.row.Flags[p]&sampling.Fixed != 0:
		j.find("fixed-positions", "choose among the eligible positions (or the written ones that are not fixed), not among all", "%s position %d, which is fixed", verb, p)
	case j.named[p]:
		j.find("positions-once", "name a position once in a step, whatever is done to it", "names position %d twice", p)
	default:
		j.named[p] = true
		return true
	}
	return false
}

func (j *judgement) opens(p int32) bool {
	if !j.at(p, "opens") {
		return false
	}
	switch f := j.row.Flags[p]; {
	case f&sampling.Masked == 0:
		j.find("eligible", "open masked positions; a written one is overwritten, or remasked where the planner declares that", "opens position %d, which is written already", p)
	case f&sampling.Eligible == 0:
		j.find("eligible", "choose among the positions whose flag eligible is set", "opens position %d, which is masked but not eligible in this step", p)
	default:
		return true
	}
	return false
}

func (j *judgement) overwrites(w sampling.Write) bool {
	if !j.at(w.Position, "overwrites") {
		return false
	}
	switch {
	case w.Token == j.s.run.MaskID:
		j.find("mask-token", "remask a position to mask it again, and leave the mask (StartRequest.mask_id) out of every choice of tokens", "writes the mask, token %d, at position %d", w.Token, w.Position)
	case w.Token < 0 || int(w.Token) >= j.s.run.V:
		j.find("token-range", "write tokens below v of the run (StartRequest.v)", "writes token %d at position %d, but tokens run from 0 to %d", w.Token, w.Position, j.s.run.V-1)
	default:
		return true
	}
	return false
}

func (j *judgement) remasks(p int32) bool {
	if !j.s.about.CanRemask {
		j.find("remask-declared", "describe the planner with can_remask, which also brings statistics of written positions", "remasks position %d, but the plugin is described with can_remask false", p)
		return false
	}
	if !j.at(p, "remasks") {
		return false
	}
	if j.row.Flags[p]&sampling.Masked != 0 {
		j.find("eligible", "remask positions that are written", "remasks position %d, which is masked", p)
		return false
	}
	return true
}

func (j *judgement) times(d *sampling.Decision) {
	if t := d.NextT; !(t >= 0 && t <= 1) {
		j.find("times", "times run from 1 down to 0; 0 leaves the time to the sampler", "asks to go on at time %v", t)
		d.NextT = 0
	}
	if as := d.ActedAs; as != 0 && (as < j.row.Step || as >= j.row.Steps) {
		j.find("times", "name a step from the row's own on, below its last", "acted as step %d, but the row is at step %d of %d", as, j.row.Step, j.row.Steps)
		d.ActedAs = 0
	}
	if d.Done && d.GoOn {
		j.find("times", "say done or go_on, not both", "asks to finish the row and to go on with it")
		d.GoOn = false
	}
}
