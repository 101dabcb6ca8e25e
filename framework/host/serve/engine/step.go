package engine

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// take makes s what a frame shows, in the memory that s has. What the frame says of positions of the row before its growth is moved to
// where they stand after it.
func (s *Step) take(f *sampling.Frame) {
	s.Step, s.Steps, s.NFE = f.Step, f.Steps, f.NFE
	s.Tokens, s.Flags = append(s.Tokens[:0], f.Tokens...), append(s.Flags[:0], f.Flags...)
	s.Opened, s.Remasked = append(s.Opened[:0], f.Opened...), append(s.Remasked[:0], f.Remasked...)
	before := len(f.Tokens) + len(f.Deleted)
	for _, in := range f.Inserted {
		before -= int(in.Count)
	}
	s.Guess = slices.Grow(s.Guess[:0], before)[:before]
	for i := range s.Guess {
		s.Guess[i] = -1
		if at := i - f.GuessAt; at >= 0 && at < len(f.Guess) {
			s.Guess[i] = f.Guess[at]
		}
	}
	if len(f.Deleted)+len(f.Inserted) > 0 {
		s.move(sampling.NewShift(before, f.Deleted, f.Inserted), before)
	}
	for i, flags := range s.Flags {
		if flags&sampling.Masked == 0 {
			s.Guess[i] = -1
		}
	}
}

// move takes guesses and positions of a row of so many positions to where they stand after a shift.
func (s *Step) move(shift sampling.Shift, before int) {
	from := make([]int32, before)
	for i := range from {
		from[i] = int32(i)
	}
	to := make([]int32, before)
	for i := range to {
		to[i] = -1 // deleted
	}
	for after, i := range sampling.Shifted(shift, from, -1) {
		if i >= 0 {
			to[i] = int32(after)
		}
	}
	s.Guess = sampling.Shifted(shift, s.Guess, -1)
	for _, list := range []*[]int32{&s.Opened, &s.Remasked} {
		moved := (*list)[:0]
		for _, i := range *list {
			if to[i] >= 0 {
				moved = append(moved, to[i])
			}
		}
		*list = moved
	}
}
