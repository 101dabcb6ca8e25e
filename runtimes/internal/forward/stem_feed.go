package forward

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// lane is what one input of the model is filled from, each [b, l]: the rows, the rows of the pass without prompts, and what stands
// in the shadow of both.
type lane struct{ first, second, shadow []int64 }

// feedPort binds one of the model's own inputs.
func feedPort(a *allocation, s *Pass, p port, m *Model) {
	constant := func(x int64) []int64 {
		out := alloc[int64](a, s, s.b*s.l)
		for i := range out {
			out[i] = x
		}
		return out
	}
	all := func(x []int64) lane { return lane{x, x, x} }
	switch p.name {
	case "input_ids":
		ids := lane{first: s.Batch.Tokens, second: s.Batch.Unconditional}
		if s.copies > 1 {
			ids.shadow = constant(int64(m.MaskID))
		}
		feedLane(a, s, p, ids, int64(m.PadID))
	case "attention_mask":
		feedLane(a, s, p, all(s.Batch.Attention), 0)
	case "token_type_ids":
		feedConstant(a, s, p, constant(0))
	case "position_ids":
		positions := constant(0)
		for i := range positions {
			positions[i] = int64(i % s.l)
		}
		feedConstant(a, s, p, positions)
	case "masked":
		s.Batch.Masked = constant(0)
		feedLane(a, s, p, all(s.Batch.Masked), 0)
	case "attention_bias":
		feedBias(a, s)
	case "temperature":
		bind(a, &s.In, alloc[float32](a, s, s.modelRows), s.modelRows)
		seldom(a, s, new(int))
	case "uniform":
		bind(a, &s.In, alloc[float32](a, s, s.modelRows*s.copies*s.length), s.modelRows, s.copies*s.length)
		seldom(a, s, new(int))
	case "timesteps":
		dims := []int{s.modelRows, 1}[:p.rank]
		time := s.Batch.Time
		if s.modelRows != s.b {
			time = alloc[float32](a, s, s.modelRows)
			s.feeds = append(s.feeds, func() {
				for i := range time {
					time[i] = s.Batch.Time[s.source(i)]
				}
			})
		}
		bind(a, &s.In, time, dims...)
	}
}

// source is the row of the batch that row i of the model is, or repeats: sound input to any model.
func (s *Pass) source(i int) int { return min(i%s.rows, s.b-1) }

// feedLane binds an input in the type that the model wants, without a copy where the model runs the batch as it is.
func feedLane(a *allocation, s *Pass, p port, from lane, pad int64) {
	switch {
	case p.typ == graph.Int32:
		feedCopied[int32](a, s, from, pad)
	case p.typ == graph.Float32:
		feedCopied[float32](a, s, from, pad)
	case s.padded() || s.copies > 1 || s.modelRows != s.rows:
		feedCopied[int64](a, s, from, pad)
	default:
		bind(a, &s.In, from.first, s.rows, s.length)
	}
}

// feedConstant binds an input [b, l] that is the same in every pass.
func feedConstant(a *allocation, s *Pass, p port, x []int64) {
	before := len(s.feeds)
	feedLane(a, s, p, lane{x, x, x}, 0)
	if a.err == nil {
		for _, feed := range s.feeds[before:] {
			feed()
		}
	}
	s.feeds = s.feeds[:before]
	seldom(a, s, new(int))
}

func feedCopied[T int64 | int32 | float32](a *allocation, s *Pass, from lane, pad int64) {
	length := s.copies * s.length
	dst := alloc[T](a, s, s.modelRows*length)
	for i := range dst {
		dst[i] = T(pad)
	}
	s.feeds = append(s.feeds, func() {
		for i := range s.modelRows {
			parts := [2][]int64{from.first, from.shadow}
			if i >= s.rows {
				parts[0] = from.second
			}
			r := s.source(i)
			for k, src := range parts[:s.copies] {
				to := dst[i*length+k*s.length:]
				for j, x := range src[r*s.l : (r+1)*s.l] {
					to[j] = T(x)
				}
			}
		}
	})
	bind(a, &s.In, dst, s.modelRows, length)
}

// hidden is added to the score of what a position must not see: it outweighs any score, leaves nothing of it after exp, and
// twice as much is within float16's range.
const hidden = -3e4

// feedBias binds the attention bias [B, 1, L, L]: padding is hidden from all. With shadows nobody sees the shadow of another, and a shadow
// sees all of its row but the position that it stands for.
func feedBias(a *allocation, s *Pass) {
	length := s.copies * s.length
	dst := alloc[float32](a, s, s.modelRows*length*length)
	before := make([]int64, s.b*s.l) // attention that the bias was written for
	for i := range before {
		before[i] = -1
	}
	version := new(int)
	s.feeds = append(s.feeds, func() {
		if slices.Equal(before, s.Batch.Attention) {
			return
		}
		copy(before, s.Batch.Attention)
		*version++
		for i := range s.modelRows {
			r := s.source(i)
			writeBias(dst[i*length*length:(i+1)*length*length], s.Batch.Attention[r*s.l:(r+1)*s.l], s.length, s.copies)
		}
	})
	bind(a, &s.In, dst, s.modelRows, 1, length, length)
	seldom(a, s, version)
}

// writeBias writes the bias of one row [copies*length, copies*length], of which attention [l] is real.
func writeBias(bias []float32, attention []int64, length, copies int) {
	width := copies * length
	for q := range width {
		row := bias[q*width : (q+1)*width]
		for k := range row {
			row[k] = hidden
			if k < len(attention) && attention[k] != 0 {
				row[k] = 0
			}
		}
		if q >= length { // a shadow: sees itself in the place of what it stands for
			row[q-length], row[q] = hidden, 0
		}
	}
}
