package sampling_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/lowconfidence"
)

// steps keeps the positions that every step of the rows opened, and the canvas after it.
type steps struct {
	opened, canvas map[int64][][]int32
	frames         []sampling.Frame
}

func (s *steps) Admitted(sampling.Frame)  {}
func (s *steps) Finished(sampling.Result) {}
func (s *steps) Stepped(f sampling.Frame) {
	if s.opened == nil {
		s.opened, s.canvas = map[int64][][]int32{}, map[int64][][]int32{}
	}
	opened := slices.Sorted(slices.Values(f.Opened))
	s.opened[f.Index], s.canvas[f.Index] = append(s.opened[f.Index], opened), append(s.canvas[f.Index], slices.Clone(f.Tokens))
	f.Opened, f.Remasked, f.Tokens, f.Flags, f.Guess, f.Logp = opened, slices.Clone(f.Remasked), slices.Clone(f.Tokens), slices.Clone(f.Flags), slices.Clone(f.Guess), nil
	s.frames = append(s.frames, f)
}

// LLaDA's generate with blocks, written in numpy: the same tokens, opened in the same sets, at any batch.
func TestBlocksAgainstLLaDA(t *testing.T) {
	type row struct {
		Prompt               []int32
		Length, Block, Steps int
		Tokens               []int32
		Opened               [][]int32
		NFE                  int
	}
	var rows []row
	goldenfile.Read(t, "testdata/blocks.json.gz", &rows)
	if len(rows) < 200 {
		t.Fatalf("%d rows, expected at least 200", len(rows))
	}
	const v = 9
	planner := lowconfidence.New()
	needs, err := planner.Start(t.Context(), sampling.Run{Options: []byte(`{}`), MaskID: v - 1, V: v - 1})
	if err != nil {
		t.Fatal(err)
	}
	plan := func(r *sampling.Row, d *sampling.Decision) {
		out := make([]sampling.Decision, 1)
		if err := planner.Plan(t.Context(), &sampling.Step{Rows: []sampling.Row{*r}}, out); err != nil {
			t.Fatal(err)
		}
		*d = out[0]
	}
	byBlock := map[int][]int{}
	for i, r := range rows {
		byBlock[r.Block] = append(byBlock[r.Block], i)
	}
	for length, at := range byBlock {
		var requests []sampling.Request
		for _, i := range at {
			requests = append(requests, sampling.Request{Index: int64(i), Steps: rows[i].Steps, Tokens: append(slices.Clone(rows[i].Prompt), slices.Repeat([]int32{v - 1}, rows[i].Length)...)})
		}
		seen := &steps{}
		got, _, err := run{denoiser: &goDenoiser{v: v, logits: hashLogits(v), pad: true}, plan: plan, needs: needs, rows: 5, requests: requests,
			observers: []sampling.Observer{seen}, frame: func(c *sampling.LoopConfig) { c.Blocks.Length = length }}.do(t)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range at {
			r := got[int64(i)]
			if diff := cmp.Diff(rows[i], row{rows[i].Prompt, rows[i].Length, rows[i].Block, rows[i].Steps, r.Tokens, seen.opened[int64(i)], r.NFE}); diff != "" {
				t.Fatalf("row %d (-reference +ours):\n%s", i, diff)
			}
		}
	}
}

// What planners see of a row, step by step.
type sight struct {
	Index                               int64
	Offset, N, Blanks, Behind, Step, Of int
	T, S                                float64
	Masked                              int
}

func sightOf(r *sampling.Row) sight {
	return sight{r.Index, r.Offset, len(r.Token), r.Blanks, r.Behind, r.Step, r.Steps, r.T, r.S, len(eligible(r))}
}

// Every block is to planners a row of its own, with its share of the steps; blocks without blanks are left out.
func TestABlockIsARowOfItsOwn(t *testing.T) {
	const m = 3 // the mask
	tokens := []int32{0, m, m, 1, m, 1, 1, 1, m, m, 2}
	for name, c := range map[string]struct {
		blocks sampling.Blocks
		steps  int
		want   []sight
	}{
		"from the first blank": {sampling.Blocks{Length: 3}, 0, []sight{ // [1,4) [4,7) [7,10)
			{0, 1, 2, 2, 3, 0, 2, 1, 0.5, 2}, {0, 1, 2, 2, 3, 1, 2, 0.5, 0, 1},
			{0, 4, 1, 1, 2, 0, 1, 1, 0, 1},
			{0, 8, 2, 2, 0, 0, 2, 1, 0.5, 2}, {0, 8, 2, 2, 0, 1, 2, 0.5, 0, 1}}},
		"absolute": {sampling.Blocks{Length: 4, Absolute: true}, 0, []sight{ // [0,4) [4,8) [8,11)
			{0, 1, 2, 2, 3, 0, 2, 1, 0.5, 2}, {0, 1, 2, 2, 3, 1, 2, 0.5, 0, 1},
			{0, 4, 1, 1, 2, 0, 1, 1, 0, 1},
			{0, 8, 2, 2, 0, 0, 2, 1, 0.5, 2}, {0, 8, 2, 2, 0, 1, 2, 0.5, 0, 1}}},
		"one without blanks": {sampling.Blocks{Length: 2}, 5, []sight{ // [1,3) [3,5) [7,9) [9,11) have blanks and share 5 steps
			{0, 1, 2, 2, 3, 0, 2, 1, 0.5, 2}, {0, 1, 2, 2, 3, 1, 2, 0.5, 0, 1},
			{0, 4, 1, 1, 2, 0, 1, 1, 0, 1},
			{0, 8, 1, 1, 1, 0, 1, 1, 0, 1}, {0, 9, 1, 1, 0, 0, 1, 1, 0, 1}}},
		"fewer steps than blocks": {sampling.Blocks{Length: 2}, 2, []sight{
			{0, 1, 2, 2, 3, 0, 1, 1, 0, 2}, {0, 4, 1, 1, 2, 0, 1, 1, 0, 1}, {0, 8, 1, 1, 1, 0, 1, 1, 0, 1}, {0, 9, 1, 1, 0, 0, 1, 1, 0, 1}}},
		"none": {sampling.Blocks{}, 4, []sight{
			{0, 1, 9, 5, 0, 0, 4, 1, 0.75, 5}, {0, 1, 9, 5, 0, 1, 4, 0.75, 0.5, 4}, {0, 1, 9, 5, 0, 2, 4, 0.5, 0.25, 3}, {0, 1, 9, 5, 0, 3, 4, 0.25, 0, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []sight
			plan := func(r *sampling.Row, d *sampling.Decision) { got = append(got, sightOf(r)); leftmost(r, d) }
			res, _, err := run{denoiser: &goDenoiser{v: 4, logits: hashLogits(4)}, plan: plan,
				requests: []sampling.Request{{Tokens: tokens, Steps: c.steps}}, frame: func(l *sampling.LoopConfig) { l.Blocks = c.blocks }}.do(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r := res[0]; r.NFE != len(c.want) || r.Steps != len(c.want) || slices.Contains(r.Tokens, m) {
				t.Errorf("%d passes, %d steps, tokens %v; want %d passes", r.NFE, r.Steps, r.Tokens, len(c.want))
			}
		})
	}
}

// A block as long as the row is no block; blocks of one position open from left to right, whatever the planner prefers; and
// in any case every block is complete before the next begins.
func TestBlockLengths(t *testing.T) {
	const v = 9
	rapid.Check(t, func(rt *rapid.T) {
		request := sampling.Request{Tokens: rapid.SliceOfN(rapid.Int32Range(v-3, v-1), 1, 12).Draw(rt, "tokens"), Steps: rapid.IntRange(0, 15).Draw(rt, "steps"),
			Params: sampling.Params{Temperature: 1, TopP: 1}}
		seed, length := rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 12).Draw(rt, "length")
		sample := func(b sampling.Blocks) (sampling.Result, *steps) {
			seen := &steps{}
			res, _, err := run{denoiser: &goDenoiser{v: v, logits: hashLogits(v), pad: true, timed: true}, plan: chaotic, canRemask: true, needs: sampling.Needs{Uniform: true},
				seed: seed, requests: []sampling.Request{request}, observers: []sampling.Observer{seen}, frame: func(c *sampling.LoopConfig) { c.Blocks = b }}.do(t)
			if err != nil {
				rt.Fatal(err)
			}
			r := res[0]
			r.Elapsed, r.Logp = 0, nil
			return r, seen
		}
		none, noneSeen := sample(sampling.Blocks{})
		whole, wholeSeen := sample(sampling.Blocks{Length: len(request.Tokens)})
		if diff := cmp.Diff(none, whole) + cmp.Diff(noneSeen.frames, wholeSeen.frames); diff != "" {
			rt.Fatalf("a block of the whole row differs from none:\n%s", diff)
		}
		_, seen := sample(sampling.Blocks{Length: length})
		first := slices.Index(request.Tokens, int32(v-1))
		at := 0
		for i, opened := range seen.opened[0] {
			for _, p := range opened {
				block := (int(p) - first) / length
				if block < at {
					rt.Fatalf("step %d opens position %d of block %d after one of block %d", i, p, block, at)
				}
				at = block
			}
			if masked := slices.Index(seen.canvas[0][i], int32(v-1)); masked >= 0 && (masked-first)/length < at {
				rt.Fatalf("step %d: position %d is masked and block %d has begun", i, masked, at)
			}
			if seen.frames[i].Step < i {
				rt.Fatalf("step %d counts as %d", i, seen.frames[i].Step)
			}
		}
	})
}

// A block that runs out of steps opens its own rest; the row goes on and ends as out of steps.
func TestABlocksCap(t *testing.T) {
	idle := func(r *sampling.Row, d *sampling.Decision) {
		if r.Offset > 0 { // later blocks are done in one step
			d.Open = append(d.Open, eligible(r)...)
		}
	}
	res, _, err := run{denoiser: &goDenoiser{v: 4, logits: hashLogits(4), timed: true}, plan: idle,
		requests: []sampling.Request{{Tokens: []int32{3, 3, 3, 3, 3, 3}, Steps: 6}}, frame: func(c *sampling.LoopConfig) { c.Blocks.Length = 2 }}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	if r := res[0]; r.Finish != sampling.FinishSteps || r.NFE != 4 || !slices.Equal(r.StepMap, []int32{1, 1, 2, 2, 3, 3}) {
		t.Errorf("ended as %+v", r)
	}
}

// Models that read times get that of the whole row; statistics with memory begin anew with every block, and only the
// window is computed.
func TestWhatTheModelSeesOfBlocks(t *testing.T) {
	var got []string
	d := &goDenoiser{v: 4, logits: hashLogits(4), timed: true, window: true}
	d.seen = func(b *sampling.Batch) {
		got = append(got, fmt.Sprint(b.Time, b.Fresh, b.Active, b.Lo, b.Hi))
	}
	res, acc, err := run{denoiser: d, plan: leftmost, requests: []sampling.Request{{Tokens: []int32{0, 3, 3, 3, 3}}},
		frame: func(c *sampling.LoopConfig) { c.Blocks.Length = 2 }}.do(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"[1] [1] [0 1 1 0 0] [1] [3]", "[0.75] [0] [0 0 1 0 0] [1] [3]",
		"[0.5] [1] [0 0 0 1 1] [3] [5]", "[0.25] [0] [0 0 0 0 1] [3] [5]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("time, fresh, active, lo, hi (-want +got):\n%s", diff)
	}
	if r := res[0]; r.NFE != 4 || r.Partial != 3 || acc.Passes != 4 || acc.Partial != 3 {
		t.Errorf("NFE %d with %d partial, %d passes with %d partial; want 4 with 3", r.NFE, r.Partial, acc.Passes, acc.Partial)
	}
}

// The sampler's grid runs from 1 to 0 in every block, also where it is asked anew at every step.
func TestSamplersSeeBlocks(t *testing.T) {
	d := &goDenoiser{v: 4, logits: hashLogits(4)}
	if err := d.Configure(t.Context(), sampling.Head{Suppress: []int32{3}}); err != nil {
		t.Fatal(err)
	}
	more := true
	loop, err := sampling.NewLoop(sampling.LoopConfig{Denoiser: d, Planner: planFunc(leftmost), MaskID: 3, V: 3, Rows: 1, Blocks: sampling.Blocks{Length: 2},
		Next: func() (sampling.Request, bool) {
			defer func() { more = false }()
			return sampling.Request{Tokens: []int32{3, 3, 3}, Steps: 5}, more
		}, Sink: func(sampling.Result) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := loop.Admit(t.Context())
	var got []string
	for err == nil && !rows[0].Done {
		r := rows[0]
		got = append(got, fmt.Sprint(r.Step, "/", r.Steps, " ", r.Masked, "/", r.Blanks))
		rows, err = loop.Advance(t.Context(), []sampling.Advance{{T: 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0/3 2/2", "1/3 1/2", "0/2 1/1"}, got); diff != "" {
		t.Error(diff)
	}
}
