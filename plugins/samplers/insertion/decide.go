package insertion

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// events decides what happens to a row in a step. It is a pure function of the row and the step; its fields are memory.
type events struct {
	Options
	grows  bool // the model inserts
	masks  []int32
	scores []float64
	counts []int
}

// span is a step in time.
type span struct {
	from, to insertion.Moment
	a        float64
}

// gaps are the insertion rates of a row, those of gaps that may grow.
type gaps struct {
	rates  []float32 // [n+1] or nil
	frozen []uint8   // [n+1] or nil
	tail   bool      // gap n may grow
}

func (g *gaps) free(i int) bool {
	return (i < len(g.rates)-1 || g.tail) && (g.frozen == nil || g.frozen[i] == 0)
}

func (g *gaps) rate(i int) float64 {
	if !g.free(i) {
		return 0
	}
	return float64(g.rates[i])
}

// any tells whether some gap may grow.
func (g *gaps) any() bool {
	for i := range g.rates {
		if g.free(i) {
			return true
		}
	}
	return false
}

func unmaskRate(r *sampling.Row, i int) float64 {
	if r.UnmaskRate == nil {
		return 1
	}
	return float64(r.UnmaskRate[i])
}

// decide writes what happens in the step, and returns how many masks of the row before it stay masked.
func (e *events) decide(r *sampling.Row, free *gaps, s span, out *sampling.Decision) (masked int) {
	// In a step of length dU a mask opens with 1 - exp(-m_um opening), or min(1, m_um opening), and a gap is expected to
	// receive m_in receiving masks.
	opening := s.to.U - s.from.U
	receiving := -math.Expm1(-opening)
	if e.Events != "integrated" {
		opening = insertion.Hazard(1-s.from.Left, s.a) * (s.from.Left - s.to.Left)
		receiving = opening
	}
	e.masks = e.masks[:0]
	for i, f := range r.Flags {
		if f&sampling.Eligible == 0 {
			continue
		}
		e.masks = append(e.masks, int32(i))
		p := times(unmaskRate(r, i), opening)
		if e.Events != "euler" {
			p = -math.Expm1(-p)
		}
		if r.Uniform[i] < p {
			out.Open = append(out.Open, int32(i))
		}
	}
	if e.Confidence != "none" && len(out.Open) > 0 {
		out.Open = e.choose(r, len(out.Open), out.Open[:0])
	}
	inserted, overshoot := e.insert(r, free, receiving, out)
	out.Metrics = metrics(len(out.Open), inserted, out.Refused, overshoot)
	return len(e.masks) - len(out.Open)
}

// metrics are what a step did, without what is 0: most steps of a row change nothing.
func metrics(opened, inserted, refused int, overshoot float64) map[string]float64 {
	var m map[string]float64
	for _, x := range [...]struct {
		name  string
		value float64
	}{{"opened", float64(opened)}, {"inserted", float64(inserted)}, {"refused", float64(refused)}, {"max_overshoot", overshoot}} {
		if x.value != 0 && m == nil {
			m = map[string]float64{}
		}
		if x.value != 0 {
			m[x.name] = x.value
		}
	}
	return m
}

// times is a rate times a length of time, where a rate of 0 means never, however long.
func times(rate, length float64) float64 {
	if rate == 0 {
		return 0
	}
	return rate * length
}

// insert draws the masks that gaps receive and returns their number and the largest number that a gap was expected to receive.
func (e *events) insert(r *sampling.Row, free *gaps, receiving float64, out *sampling.Decision) (inserted int, most float64) {
	e.counts = e.counts[:0]
	sum := 0
	for g := range free.rates {
		lambda := times(free.rate(g), receiving)
		most = max(most, lambda)
		count := 0
		if e.Events != "euler" { // one more than there is room for says that it is too many
			count = insertion.PoissonQuantile(r.GapUniform[g], lambda, r.Room+1)
		} else if r.GapUniform[g] < lambda {
			count = 1
		}
		e.counts = append(e.counts, count)
		sum += count
	}
	room := r.Room
	if sum > room {
		if out.Refused = sum; e.Overflow == "reject" {
			return 0, most
		}
		out.Refused = sum - room
	}
	for g, count := range e.counts {
		if count = min(count, room); count > 0 {
			out.Insert = append(out.Insert, sampling.Insertion{Gap: int32(g), Count: int32(count)})
			room -= count
		}
	}
	return r.Room - room, most
}

// fill is the last step: all masks open, nothing is inserted. Rows that do not grow are finished, or go on with their next block, without
// being told.
func (e *events) fill(out *sampling.Decision) {
	out.Fill, out.Done = sampling.FillDraw, e.grows
	if e.Final == "argmax" {
		out.Fill = sampling.FillArgmax
	}
}
