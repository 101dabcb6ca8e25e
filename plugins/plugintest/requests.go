package plugintest

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// request is what a sampler asked of the session for one row: a step, or a decision of its own.
type request struct {
	verb     string           // Advance, Denoise or Apply
	step     sampling.Advance // of Advance and Denoise
	decision sampling.Decision
}

// requests are those of a run, by row.
type requests struct {
	index map[int]int64 // rows by slot
	last  []int64       // rows of the Denoise that Apply belongs to
	byRow map[int64][]request
}

func (r *requests) admitted(rows []sampling.RowState) {
	if r.index == nil {
		r.index, r.byRow = map[int]int64{}, map[int64][]request{}
	}
	for _, row := range rows {
		r.index[row.Slot] = row.Index
	}
}

func (r *requests) steps(verb string, rows []sampling.Advance) {
	for _, a := range rows {
		if row, ok := r.index[a.Slot]; ok {
			a.Slot, a.Ahead, a.Trial = 0, slices.Clone(a.Ahead), slices.Clone(a.Trial) // slots differ from run to run
			r.byRow[row] = append(r.byRow[row], request{verb: verb, step: a})
		}
	}
}

// denoised notes the rows that a Denoise has given; one with trials is for reading alone.
func (r *requests) denoised(rows []sampling.Advance, given *sampling.Step) {
	if slices.ContainsFunc(rows, func(a sampling.Advance) bool { return a.Trial != nil }) {
		return
	}
	r.last = r.last[:0]
	for i := range given.Rows {
		r.last = append(r.last, given.Rows[i].Index)
	}
}

func (r *requests) decides(decisions []sampling.Decision) {
	for i, row := range r.last[:min(len(r.last), len(decisions))] {
		r.byRow[row] = append(r.byRow[row], request{verb: "Apply", decision: canonical(&decisions[i])})
	}
}

// asksOtherwise says where two lists of requests for a row differ, or "".
func asksOtherwise(a, b []request) string {
	for i := range min(len(a), len(b)) {
		x, y := &a[i], &b[i]
		if x.verb != y.verb {
			return fmt.Sprintf("request %d: %s; then %s", i+1, x.verb, y.verb)
		}
		if d := decidesOtherwise(&x.decision, &y.decision); d != "" {
			return fmt.Sprintf("request %d, Apply: %s", i+1, d)
		}
		if d := stepsOtherwise(&x.step, &y.step); d != "" {
			return fmt.Sprintf("request %d, %s: %s", i+1, x.verb, d)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d requests; then %d", len(a), len(b))
	}
	return ""
}

// stepsOtherwise says how two steps differ, or "".
func stepsOtherwise(a, b *sampling.Advance) string {
	switch {
	case a.T != b.T || a.S != b.S:
		return fmt.Sprintf("time %v to %v; then %v to %v", a.T, a.S, b.T, b.S)
	case a.AlphaT != b.AlphaT || a.AlphaS != b.AlphaS:
		return fmt.Sprintf("alpha %v to %v; then %v to %v", a.AlphaT, a.AlphaS, b.AlphaT, b.AlphaS)
	case !slices.Equal(a.Ahead, b.Ahead):
		return fmt.Sprintf("ahead %v; then %v", a.Ahead, b.Ahead)
	case !slices.Equal(a.Trial, b.Trial):
		return fmt.Sprintf("trial %v; then %v", a.Trial, b.Trial)
	}
	return ""
}

// ofRowAlone are the requests that must not depend on the other rows. With times ahead it is the first one, which names them all: how
// many steps the host takes by itself depends on when other rows come back.
func ofRowAlone(all []request) []request {
	if len(all) > 0 && all[0].step.Ahead != nil {
		return all[:1]
	}
	return all
}
