package serve

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// step is a row after one of its steps. What is written for good and what is only supposed stand apart; a position that is in none
// of the groups is blank, and the model was not asked about it.
type step struct {
	Step        int     `json:"step"`  // that was just done, from 0
	Steps       int     `json:"steps"` // of the row; a cap for planners that are done earlier
	NFE         int     `json:"nfe"`
	Length      int     `json:"length"`
	Fixed       group   `json:"fixed"`       // given
	Committed   group   `json:"committed"`   // written
	Provisional group   `json:"provisional"` // what the model would write
	Opened      []int32 `json:"opened"`      // positions that this step wrote
	Remasked    []int32 `json:"remasked"`    // positions that it masked again
}

// group is some positions of a row with what stands there; all three lists have one entry a position.
type group struct {
	Positions []int32  `json:"positions"`
	IDs       []int32  `json:"ids"`
	Texts     []string `json:"texts"`
}

func (g *group) add(s speller, at int, id int32) {
	g.Positions, g.IDs, g.Texts = append(g.Positions, int32(at)), append(g.IDs, id), append(g.Texts, s.of(id))
}

// newStep sorts a row's positions.
func newStep(s speller, from *engine.Step) *step {
	none := func() group { return group{Positions: []int32{}, IDs: []int32{}, Texts: []string{}} }
	out := &step{Step: from.Step, Steps: from.Steps, NFE: from.NFE, Length: len(from.Tokens), Fixed: none(), Committed: none(), Provisional: none(),
		Opened: append([]int32{}, from.Opened...), Remasked: append([]int32{}, from.Remasked...)}
	for i, id := range from.Tokens {
		switch {
		case from.Flags[i]&sampling.Fixed != 0:
			out.Fixed.add(s, i, id)
		case from.Flags[i]&sampling.Masked == 0:
			out.Committed.add(s, i, id)
		case i < len(from.Guess) && from.Guess[i] >= 0:
			out.Provisional.add(s, i, from.Guess[i])
		}
	}
	return out
}

// events answers as a stream of server-sent events: `data: {...}` for each step and end of a row, `data: [DONE]` at last. While nothing
// happens a comment is sent every beat, so that a client that is gone is noticed. The error is that of a client that left, or that does
// not read.
func (j *job) events(ctx context.Context, w *patient, beat time.Duration) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // proxies that would hold events back
	if err := w.event([]byte(": begun\n\n")); err != nil {
		return err
	}
	for {
		event, err := j.next(ctx, beat)
		switch {
		case errors.Is(err, io.EOF):
			return j.last(w)
		case errors.Is(err, errBeat):
			err = w.event([]byte(": waiting\n\n"))
		case err != nil:
			return err
		case event.Done != nil:
			err = j.send(w, j.take(event))
		case event.Step != nil:
			j.entry.stepped()
			err = j.send(w, choice{Index: event.Row, Step: newStep(j.spell, event.Step)})
		}
		if err != nil {
			return err
		}
	}
}

var errBeat = errors.New("nothing happened")

// next is the answer's next event, or errBeat after a while.
func (j *job) next(ctx context.Context, beat time.Duration) (engine.Event, error) {
	timed, cancel := context.WithTimeout(ctx, beat)
	defer cancel()
	event, err := j.answer.Next(timed)
	if err != nil && timed.Err() != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return event, errBeat
	}
	return event, err
}

// send writes one choice as an event; the last row's end brings the usage, unless the client asked for an event of it.
func (j *job) send(w *patient, c choice) error {
	piece := j.head
	piece.Choices = []choice{c}
	if c.ending != nil && !j.request.usage && j.done() {
		piece.Usage = &j.usage
	}
	j.head.Notes = nil // told once
	return w.data(piece)
}

func (j *job) done() bool {
	for _, row := range j.ends {
		if row == nil {
			return false
		}
	}
	return true
}

// last ends a stream: with an error where no row was answered.
func (j *job) last(w *patient) error {
	if f := j.verdict(); f != nil {
		j.entry.failed(f)
		if err := w.data(map[string]*failure{"error": f}); err != nil {
			return err
		}
	}
	if j.request.usage {
		piece := j.head
		piece.Choices, piece.Usage = []choice{}, &j.usage
		if err := w.data(piece); err != nil {
			return err
		}
	}
	return w.event([]byte("data: [DONE]\n\n"))
}
