package sampling_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// cell is one position of a row as a list of things would have it, with the gap before it.
type cell struct {
	token      int32
	masked     bool
	fixed      bool
	born, open int32
	frozen     bool // the gap on its left
	end        bool // no position, but the end of the row
}

// naive is a row as a list that is cut and joined.
type naive []cell

func (m naive) tokens() (tokens, born, open []int32, frozen []uint8) {
	for _, c := range m {
		bit := uint8(0)
		if c.frozen {
			bit = 1
		}
		frozen = append(frozen, bit)
		if !c.end {
			tokens, born, open = append(tokens, c.token), append(born, c.born), append(open, c.open)
		}
	}
	return tokens, born, open, frozen
}

// observed replays what frames tell of a row.
type observed struct {
	t    *rapid.T
	rows []int32 // ids that positions keep while they move; new ones count on
	next int32
}

func (o *observed) Admitted(f sampling.Frame) {
	for range f.Tokens {
		o.rows, o.next = append(o.rows, o.next), o.next+1
	}
}

func (o *observed) Stepped(f sampling.Frame) {
	for _, p := range slices.Backward(f.Deleted) {
		o.rows = slices.Delete(o.rows, int(p), int(p)+1)
	}
	for _, in := range slices.Backward(f.Inserted) {
		more := make([]int32, in.Count)
		for i := range more {
			more[i], o.next = o.next, o.next+1
		}
		o.rows = slices.Insert(o.rows, int(in.Gap), more...)
	}
	if len(o.rows) != len(f.Tokens) || len(f.Flags) != len(f.Tokens) || len(f.Logp) != len(f.Tokens) {
		o.t.Errorf("step %d: the frame's insertions make %d positions, it has %d, %d flags, %d log-probabilities", f.Step, len(o.rows), len(f.Tokens), len(f.Flags), len(f.Logp))
	}
}

func (o *observed) Finished(sampling.Result) {}

// Whatever is opened, overwritten, deleted and inserted: a row is what a list would be that the same was done to, position by
// position and gap by gap, and frames tell how it came about.
func TestGrowingRowIsAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const mask = 4
		var request sampling.Request
		var m naive
		eos := rapid.Bool().Draw(rt, "eos")
		for range rapid.IntRange(0, 5).Draw(rt, "length") {
			token := rapid.Int32Range(0, mask).Draw(rt, "token")
			frozen := rapid.Bool().Draw(rt, "frozen")
			request.Tokens, request.FrozenGap = append(request.Tokens, token), append(request.FrozenGap, frozen)
			m = append(m, cell{token: token, masked: token == mask, fixed: token != mask, born: -1, open: -1, frozen: frozen})
		}
		m = append(m, cell{end: true, frozen: eos})
		request.FrozenGap = append(request.FrozenGap, false)
		request.Steps = rapid.IntRange(2, 12).Draw(rt, "steps")
		g := growth{denoiser: growDenoiser{goDenoiser: goDenoiser{pad: true}, gaps: constant(1, 1)}, cap: 12, requests: []sampling.Request{request},
			needs: sampling.Needs{FrozenGap: true}, observers: []sampling.Observer{&observed{t: rt}}}
		if eos {
			g.gap = sampling.GapEOS
		}
		g.decide = func(r *sampling.Row, d *sampling.Decision) {
			tokens, _, _, frozen := m.tokens()
			if !slices.Equal(tokens, r.Token) || !slices.Equal(frozen, r.FrozenGap) || r.Room != 12-len(tokens) {
				rt.Fatalf("step %d: the row is %v with frozen %v and room %d, a list is %v with %v", r.Step, r.Token, r.FrozenGap, r.Room, tokens, frozen)
			}
			last, room := r.Step == r.Steps-1, r.Room
			insert := make([]int, len(m))
			gone := make([]bool, len(m))
			for i := range m {
				c := &m[i]
				if !c.frozen && !last && room > 0 {
					insert[i] = rapid.IntRange(0, min(room, 2)).Draw(rt, "insert")
					room -= insert[i]
					d.Insert = append(d.Insert, sampling.Insertion{Gap: int32(i), Count: int32(insert[i])})
				}
				switch verb := rapid.IntRange(0, 5).Draw(rt, "verb"); {
				case c.end || c.fixed:
				case verb == 0:
					d.Delete, gone[i] = append(d.Delete, int32(i)), true
				case verb == 1:
					d.Overwrite = append(d.Overwrite, sampling.Write{Position: int32(i), Token: 2})
					c.token, c.masked, c.open = 2, false, int32(r.Step)
				case verb == 2 && c.masked:
					d.Open = append(d.Open, int32(i))
					c.token, c.masked, c.open = r.Proposal[i], false, int32(r.Step)
				}
				if last && c.masked && !gone[i] {
					c.token, c.masked, c.open = r.Proposal[i], false, int32(r.Step)
				}
			}
			d.Insert = rapid.Permutation(d.Insert).Draw(rt, "order")
			var next naive
			for i, c := range m {
				for range insert[i] {
					next = append(next, cell{token: mask, masked: true, born: int32(r.Step), open: -1})
				}
				if !gone[i] {
					next = append(next, c)
				}
			}
			m = next
		}
		out, _, err := g.do(t)
		if err != nil {
			rt.Fatal(err)
		}
		r := out[0]
		tokens, born, open, _ := m.tokens()
		written := 0
		for _, step := range open {
			if step >= 0 {
				written++
			}
		}
		for what, pair := range map[string][2][]int32{"tokens": {tokens, r.Tokens}, "born": {born, r.Born}, "step map": {open, r.StepMap}} {
			if diff := cmp.Diff(append([]int32{}, pair[0]...), append([]int32{}, pair[1]...)); diff != "" {
				rt.Errorf("%s: %s", what, diff)
			}
		}
		if len(r.Logp) != len(tokens) || r.Opened != written || r.Finish != sampling.FinishComplete {
			rt.Errorf("%d log-probabilities for %d tokens, %d opened of %d, finish %s", len(r.Logp), len(tokens), r.Opened, written, r.Finish)
		}
	})
}
