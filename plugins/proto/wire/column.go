package wire

import (
	"unsafe"

	"github.com/mdmhost/mdmhost/framework/sampling"
	pb "github.com/mdmhost/mdmhost/plugins/proto/mdmhost/v1"
)

// element is what a column may hold; on the wire it is little-endian, as in the memory of every supported machine.
type element interface {
	sampling.Flags | uint8 | int32 | float32 | float64
}

// column is one statistic: where it stands in a row and in a message, who needs it, and how many entries it has.
type column[T element] struct {
	name   string
	row    func(*sampling.Row) *[]T
	step   func(*pb.Step) *[]byte
	needed func(*sampling.Needs) bool
	size   func(n int, s *pb.Step) int // entries of a row of n positions
}

func one(n int, _ *pb.Step) int       { return n }
func perTop(n int, s *pb.Step) int    { return n * int(s.K) }
func perVector(n int, s *pb.Step) int { return n * int(s.C) }
func perGap(n int, _ *pb.Step) int    { return n + 1 }

func always(*sampling.Needs) bool { return true }

var flagColumns = []column[sampling.Flags]{
	{"flags", func(r *sampling.Row) *[]sampling.Flags { return &r.Flags }, func(s *pb.Step) *[]byte { return &s.Flags }, always, one},
}

var uint8Columns = []column[uint8]{
	{"frozen_gap", func(r *sampling.Row) *[]uint8 { return &r.FrozenGap }, func(s *pb.Step) *[]byte { return &s.FrozenGap },
		func(n *sampling.Needs) bool { return n.FrozenGap }, perGap},
}

var int32Columns = []column[int32]{
	{"token", func(r *sampling.Row) *[]int32 { return &r.Token }, func(s *pb.Step) *[]byte { return &s.Token }, always, one},
	{"proposal", func(r *sampling.Row) *[]int32 { return &r.Proposal }, func(s *pb.Step) *[]byte { return &s.Proposal },
		func(n *sampling.Needs) bool { return n.Proposal }, one},
	{"top_ids", func(r *sampling.Row) *[]int32 { return &r.TopIDs }, func(s *pb.Step) *[]byte { return &s.TopIds },
		func(n *sampling.Needs) bool { return n.TopK > 0 }, perTop},
}

var float32Columns = []column[float32]{
	{"logp_proposal", func(r *sampling.Row) *[]float32 { return &r.LogpProposal }, func(s *pb.Step) *[]byte { return &s.LogpProposal },
		func(n *sampling.Needs) bool { return n.LogpProposal != sampling.NotNeeded }, one},
	{"p1", func(r *sampling.Row) *[]float32 { return &r.P1 }, func(s *pb.Step) *[]byte { return &s.P1 },
		func(n *sampling.Needs) bool { return n.P1 }, one},
	{"p2", func(r *sampling.Row) *[]float32 { return &r.P2 }, func(s *pb.Step) *[]byte { return &s.P2 },
		func(n *sampling.Needs) bool { return n.P2 }, one},
	{"entropy", func(r *sampling.Row) *[]float32 { return &r.Entropy }, func(s *pb.Step) *[]byte { return &s.Entropy },
		func(n *sampling.Needs) bool { return n.Entropy != sampling.NotNeeded }, one},
	{"logp_current", func(r *sampling.Row) *[]float32 { return &r.LogpCurrent }, func(s *pb.Step) *[]byte { return &s.LogpCurrent },
		func(n *sampling.Needs) bool { return n.LogpCurrent }, one},
	{"kl_prev", func(r *sampling.Row) *[]float32 { return &r.KLPrev }, func(s *pb.Step) *[]byte { return &s.KlPrev },
		func(n *sampling.Needs) bool { return n.KLPrev }, one},
	{"planner_score", func(r *sampling.Row) *[]float32 { return &r.PlannerScore }, func(s *pb.Step) *[]byte { return &s.PlannerScore },
		func(n *sampling.Needs) bool { return n.PlannerScore }, one},
	{"logp_leave_one_out", func(r *sampling.Row) *[]float32 { return &r.LogpLeaveOneOut }, func(s *pb.Step) *[]byte { return &s.LogpLeaveOneOut },
		func(n *sampling.Needs) bool { return n.LogpLeaveOneOut }, one},
	{"top_logp", func(r *sampling.Row) *[]float32 { return &r.TopLogp }, func(s *pb.Step) *[]byte { return &s.TopLogp },
		func(n *sampling.Needs) bool { return n.TopK > 0 }, perTop},
	{"vocab_dot", func(r *sampling.Row) *[]float32 { return &r.VocabDot }, func(s *pb.Step) *[]byte { return &s.VocabDot },
		func(n *sampling.Needs) bool { return len(n.VocabDot) > 0 }, perVector},
	{"unmask_rate", func(r *sampling.Row) *[]float32 { return &r.UnmaskRate }, func(s *pb.Step) *[]byte { return &s.UnmaskRate },
		func(n *sampling.Needs) bool { return n.UnmaskRate }, one},
	{"insertion_rate", func(r *sampling.Row) *[]float32 { return &r.InsertionRate }, func(s *pb.Step) *[]byte { return &s.InsertionRate },
		func(n *sampling.Needs) bool { return n.InsertionRate }, perGap},
}

var float64Columns = []column[float64]{
	{"uniform", func(r *sampling.Row) *[]float64 { return &r.Uniform }, func(s *pb.Step) *[]byte { return &s.Uniform },
		func(n *sampling.Needs) bool { return n.Uniform }, one},
	{"gumbel", func(r *sampling.Row) *[]float64 { return &r.Gumbel }, func(s *pb.Step) *[]byte { return &s.Gumbel },
		func(n *sampling.Needs) bool { return n.Gumbel }, one},
	{"gap_uniform", func(r *sampling.Row) *[]float64 { return &r.GapUniform }, func(s *pb.Step) *[]byte { return &s.GapUniform },
		func(n *sampling.Needs) bool { return n.InsertionRate && n.Uniform }, perGap},
}

// gather lays the columns of all rows one after the other into the message; its buffers are reused.
func gather[T element](columns []column[T], needs *sampling.Needs, rows []sampling.Row, to *pb.Step) error {
	for _, c := range columns {
		out := c.step(to)
		*out = (*out)[:0]
		if !c.needed(needs) {
			continue
		}
		for i := range rows {
			values := *c.row(&rows[i])
			if want := c.size(int(to.N[i]), to); len(values) != want {
				return violation("row %d: column %s has %d entries, expected %d", rows[i].Index, c.name, len(values), want)
			}
			*out = append(*out, sampling.Bytes(values)...)
		}
	}
	return nil
}

// scatter gives every row its part of the columns, without copying.
func scatter[T element](columns []column[T], from *pb.Step, positions int, rows []sampling.Row) error {
	for _, c := range columns {
		raw, want := *c.step(from), 0
		var zero T
		if len(raw) == 0 {
			continue
		}
		for _, n := range from.N {
			want += c.size(int(n), from) * int(unsafe.Sizeof(zero))
		}
		if len(raw) != want {
			return violation("step: column %s has %d bytes, expected %d for %d positions", c.name, len(raw), want, positions)
		}
		values, at := view[T](raw), 0
		for i := range rows {
			n := c.size(int(from.N[i]), from)
			*c.row(&rows[i]) = values[at : at+n : at+n]
			at += n
		}
	}
	return nil
}

// view reads bytes as numbers: in place where they are aligned, else from a copy.
func view[T element](b []byte) []T {
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%unsafe.Alignof(zero) == 0 {
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	}
	out := make([]T, n)
	copy(sampling.Bytes(out), b)
	return out
}
