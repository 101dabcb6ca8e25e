package sampling_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/insertion"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// growDenoiser is a goDenoiser of an insertion model.
type growDenoiser struct {
	goDenoiser
	gaps   func(tokens []int64) []float32 // [n] -> [n+1]; nil: none
	unmask func(tokens []int64) []float32 // [n] -> [n]; nil: none
}

func (d *growDenoiser) Capabilities() sampling.Capabilities {
	c := d.goDenoiser.Capabilities()
	c.Serves = sampling.Needs{InsertionRate: true, UnmaskRate: true, FrozenGap: true}
	return c
}

func (d *growDenoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	st, err := d.goDenoiser.Run(ctx)
	if err != nil {
		return nil, err
	}
	b, l := d.batch.B, d.batch.L
	rates := func(of func([]int64) []float32, width int) []float32 {
		if of == nil {
			return nil
		}
		out := slices.Repeat([]float32{float32(math.NaN())}, b*width) // what lies behind a row is nothing to look at
		for i := range b {
			n := 0
			for n < l && d.batch.Attention[i*l+n] == 1 {
				n++
			}
			copy(out[i*width:], of(d.batch.Tokens[i*l:i*l+n]))
		}
		return out
	}
	st.InsertionRate, st.UnmaskRate = rates(d.gaps, l+1), rates(d.unmask, l)
	return st, nil
}

// constant is the same rate everywhere.
func constant(rate float32, more int) func([]int64) []float32 {
	return func(tokens []int64) []float32 { return slices.Repeat([]float32{rate}, len(tokens)+more) }
}

// growth is a run of rows that grow, driven by a function or by the sampler insertion.
type growth struct {
	denoiser  growDenoiser
	gap       string
	cap       int
	decide    func(*sampling.Row, *sampling.Decision) // nil: the sampler insertion
	needs     sampling.Needs
	rows      int
	requests  []sampling.Request
	observers []sampling.Observer
	frame     func(*sampling.LoopConfig)
	options   string
}

func (g *growth) loop(t testing.TB, out map[int64]sampling.Result) (*sampling.Loop, sampling.Sampler, error) {
	t.Helper()
	if g.denoiser.logits == nil {
		g.denoiser.v, g.denoiser.logits = 5, hashLogits(5)
	}
	mask, next := int32(g.denoiser.v-1), 0
	config := sampling.LoopConfig{Denoiser: &g.denoiser, Seed: 11, MaskID: mask, V: int(mask), Rows: max(g.rows, 1), Observers: g.observers, SamplerName: "func",
		Growth: &sampling.Growth{Gap: g.gap, Cap: g.cap, A: 1}, SamplerNeeds: g.needs, Suppress: []int32{mask},
		Next: func() (sampling.Request, bool) {
			if next == len(g.requests) {
				return sampling.Request{}, false
			}
			next++
			return g.requests[next-1], true
		},
		Sink: func(r sampling.Result) error { out[r.Index] = r; return nil },
	}
	s := sampling.Sampler(stepwise{decide: g.decide})
	if g.decide == nil {
		s = insertion.New()
		options := g.options
		if options == "" {
			options = "{}"
		}
		needs, err := s.Start(t.Context(), sampling.Run{Options: []byte(options), Insertion: config.Growth, Temperature: 1, V: int(mask), MaskID: mask})
		if err != nil {
			t.Fatal(err)
		}
		config.SamplerNeeds = needs
	}
	if g.frame != nil {
		g.frame(&config)
	}
	if err := g.denoiser.Configure(t.Context(), sampling.Head{Needs: config.SamplerNeeds, Suppress: []int32{mask}}); err != nil {
		t.Fatal(err)
	}
	l, err := sampling.NewLoop(config)
	return l, s, err
}

func (g *growth) do(t testing.TB) (map[int64]sampling.Result, sampling.Accounts, error) {
	t.Helper()
	out := map[int64]sampling.Result{}
	l, s, err := g.loop(t, out)
	if err != nil {
		return out, sampling.Accounts{}, err
	}
	if err = s.Sample(t.Context(), l); err != nil {
		if e := l.Abort(err); e != nil {
			t.Fatal(e)
		}
	}
	return out, l.Accounts(), err
}

// stepwise is a sampler that is one function, with times that fall evenly.
type stepwise struct {
	sampling.Sampler
	decide func(*sampling.Row, *sampling.Decision)
}

func (s stepwise) Sample(ctx context.Context, session sampling.Session) error {
	return sdk.Drive(ctx, session, func(active []sampling.RowState) ([]sampling.RowState, error) {
		rows := make([]sampling.Advance, len(active))
		for i, r := range active {
			t := func(step int) float64 { return 1 - float64(step)/float64(r.Steps) }
			rows[i] = sampling.Advance{Slot: r.Slot, T: t(r.Step), S: t(r.Step + 1), AlphaT: 1 - t(r.Step), AlphaS: 1 - t(r.Step+1)}
		}
		step, err := session.Denoise(ctx, rows)
		if err != nil {
			return nil, err
		}
		out := make([]sampling.Decision, len(step.Rows))
		for i := range out {
			s.decide(&step.Rows[i], &out[i])
		}
		return session.Apply(ctx, out)
	})
}

func hot(index int64, tokens ...int32) sampling.Request {
	return sampling.Request{Index: index, Tokens: tokens, Steps: 24, Params: sampling.Params{Temperature: 1, TopP: 1}}
}

// Rows depend on neither batch nor neighbours: prompts, infills and empty rows in batches of 1, 7 and 64, at rates that hang on the
// row.
func TestGrowingRowsDoNotDependOnTheBatch(t *testing.T) {
	hashed := func(more int) func([]int64) []float32 {
		return func(tokens []int64) []float32 {
			out := make([]float32, len(tokens)+more)
			hashLogits(1)(append(slices.Clone(tokens), slices.Repeat([]int64{9}, more)...), out)
			for i := range out {
				out[i] /= 4
			}
			return out
		}
	}
	var requests []sampling.Request
	for i := range int64(90) {
		r := []sampling.Request{hot(i), hot(i, 1, 2), hot(i, 3, 0, 1, 3)}[i%3]
		if r.FrozenGap = make([]bool, len(r.Tokens)+1); i%3 == 2 {
			r.FrozenGap[0], r.FrozenGap[3] = true, true
		}
		requests = append(requests, r)
	}
	var want map[int64]sampling.Result
	for _, gap := range []string{sampling.GapTail, sampling.GapEOS} {
		for _, options := range []string{`{}`, `{"confidence":"top_prob"}`} {
			for _, rows := range []int{1, 7, 64} {
				g := growth{denoiser: growDenoiser{goDenoiser: goDenoiser{pad: true}, gaps: hashed(1), unmask: hashed(0)}, gap: gap, cap: 40, rows: rows, requests: requests, options: options}
				got, accounts, err := g.do(t)
				if err != nil {
					t.Fatal(err)
				}
				if rows == 1 {
					want = got
					grown := 0
					for _, r := range got {
						grown += len(r.Tokens)
					}
					if grown < 300 || accounts.Rows != 90 {
						t.Errorf("%d positions in %d rows: nothing grew", grown, accounts.Rows)
					}
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(sampling.Result{}, "Elapsed"), cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("gap %s, options %s, batch %d: %s", gap, options, rows, diff)
				}
			}
		}
	}
}

// The last step opens what is masked and inserts nothing; steps whose insertions found no room are counted and end the row with length.
func TestGrowingRowsEnd(t *testing.T) {
	grow := func(r *sampling.Row, d *sampling.Decision) {
		if d.Insert = []sampling.Insertion{{Gap: 0, Count: 2}}; r.Room < 2 {
			d.Insert, d.Refused = nil, 2
		}
	}
	eager := func(r *sampling.Row, d *sampling.Decision) {
		if grow(r, d); r.Step == r.Steps-1 {
			d.Insert, d.Done, d.Fill = nil, true, sampling.FillDraw
		}
	}
	for name, c := range map[string]struct {
		growth growth
		want   sampling.Result
	}{
		"room for all":        {growth{cap: 99, decide: grow, requests: []sampling.Request{{Tokens: []int32{1}, Steps: 3}}}, sampling.Result{Finish: sampling.FinishComplete, NFE: 3, Steps: 3, Opened: 4}},
		"the sampler ends it": {growth{cap: 99, decide: eager, requests: []sampling.Request{{Tokens: []int32{1}, Steps: 3}}}, sampling.Result{Finish: sampling.FinishComplete, NFE: 3, Steps: 3, Opened: 4}},
		"the cap":             {growth{cap: 4, decide: grow, requests: []sampling.Request{{Tokens: []int32{1}, Steps: 5}}}, sampling.Result{Finish: sampling.FinishLength, NFE: 5, Steps: 5, Opened: 2, Capped: 3}},
		"a cap of its own":    {growth{cap: 99, decide: eager, requests: []sampling.Request{{Tokens: []int32{1}, Steps: 5, Cap: 4}}}, sampling.Result{Finish: sampling.FinishLength, NFE: 5, Steps: 5, Opened: 2, Capped: 3}},
		"max_nfe":             {growth{cap: 99, decide: grow, requests: []sampling.Request{{Steps: 5}}, frame: func(c *sampling.LoopConfig) { c.MaxNFE = 2 }}, sampling.Result{Finish: sampling.FinishSteps, NFE: 2, Steps: 2, Opened: 2}},
		"nothing is free":     {growth{cap: 9, decide: grow, requests: []sampling.Request{{Tokens: []int32{1}, FrozenGap: []bool{true, true}}}}, sampling.Result{Finish: sampling.FinishComplete}},
		"only an end":         {growth{cap: 9, gap: sampling.GapEOS, decide: grow, requests: []sampling.Request{{Tokens: []int32{1}, FrozenGap: []bool{true, false}}}}, sampling.Result{Finish: sampling.FinishComplete}},
		"done without a mask": {growth{cap: 9, decide: func(_ *sampling.Row, d *sampling.Decision) { d.Done = true }, requests: []sampling.Request{{Tokens: []int32{1}}}}, sampling.Result{Finish: sampling.FinishComplete, NFE: 1, Steps: 1}},
		"nobody says how many steps": {growth{cap: 9, decide: func(*sampling.Row, *sampling.Decision) {}, requests: []sampling.Request{{}}},
			sampling.Result{Finish: sampling.FinishComplete, NFE: 128, Steps: 128}},
	} {
		t.Run(name, func(t *testing.T) {
			c.growth.denoiser.timed = true
			out, _, err := c.growth.do(t)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out[0], cmpopts.IgnoreFields(sampling.Result{}, "Elapsed", "Tokens", "StepMap", "Born", "Logp", "Until")); diff != "" {
				t.Error(diff)
			}
			if slices.Contains(out[0].Tokens, 4) || len(out[0].Tokens) != len(c.growth.requests[0].Tokens)+out[0].Opened || len(out[0].Born) != len(out[0].Tokens) {
				t.Errorf("tokens %v, born %v", out[0].Tokens, out[0].Born)
			}
		})
	}
}

// An alphabet of one token leaves nothing to draw but lengths.
func TestOneTokenAlphabetGrows(t *testing.T) {
	g := growth{denoiser: growDenoiser{goDenoiser: goDenoiser{v: 2, logits: hashLogits(2)}, gaps: constant(.3, 1)}, gap: sampling.GapEOS, cap: 30}
	for i := range int64(20) {
		g.requests = append(g.requests, hot(i, 0))
	}
	out, _, err := g.do(t)
	lengths := map[int]bool{}
	for _, r := range out {
		if lengths[len(r.Tokens)] = true; slices.Contains(r.Tokens, 1) || r.Err != nil {
			t.Errorf("row %d: %v, error %v", r.Index, r.Tokens, r.Err)
		}
	}
	if err != nil || len(lengths) < 3 {
		t.Errorf("%v, lengths %v", err, lengths)
	}
}

// A model that does not read times is not asked again about a row that its step left as it was, whatever the rows beside it do; where the
// sampler looks at proposals, it is.
func TestIdleStepsTakeNoPass(t *testing.T) {
	requests := []sampling.Request{hot(0, 1), hot(1, 1), hot(2)}
	busy := func(r *sampling.Row, d *sampling.Decision) { // row i inserts at every 2^i-th step
		if r.Step%(1<<r.Index) == 0 {
			d.Insert = []sampling.Insertion{{Gap: 0, Count: 1}}
		}
		if len(r.InsertionRate) != len(r.Token)+1 || r.InsertionRate[0] != 2 || len(r.Proposal) != len(r.Token) {
			t.Errorf("row %d, step %d: rates %v and proposals %v for %d positions", r.Index, r.Step, r.InsertionRate, r.Proposal, len(r.Token))
		}
	}
	for _, c := range []struct {
		timed, proposal bool
		nfe             [3]int
	}{{false, false, [3]int{24, 12 + 1, 6 + 1}}, {true, false, [3]int{24, 24, 24}}, {false, true, [3]int{24, 24, 24}}} {
		for _, rows := range []int{1, 3} {
			g := growth{denoiser: growDenoiser{goDenoiser: goDenoiser{pad: true, timed: c.timed}, gaps: constant(2, 1)}, cap: 40, rows: rows, requests: requests, decide: busy,
				needs: sampling.Needs{InsertionRate: true, Proposal: c.proposal}}
			out, a, err := g.do(t)
			if err != nil {
				t.Fatal(err)
			}
			nfe := [3]int{out[0].NFE, out[1].NFE, out[2].NFE}
			if nfe != c.nfe || a.RowPasses != nfe[0]+nfe[1]+nfe[2] || rows == 3 && a.Passes != 24 {
				t.Errorf("timed %v, looks %v, batch %d: passes of rows %v, want %v; %d in all in %d", c.timed, c.proposal, rows, nfe, c.nfe, a.RowPasses, a.Passes)
			}
		}
	}
}

// A model that counts time from 0 reads how much of the row is there; passes have few lengths, none above the cap.
func TestWhatTheModelOfAGrowingRowReads(t *testing.T) {
	var times []float32
	lengths := map[int]bool{}
	g := growth{denoiser: growDenoiser{goDenoiser: goDenoiser{pad: true, timed: true}, gaps: constant(1, 1)}, cap: 37, requests: []sampling.Request{{Steps: 40}},
		decide: func(r *sampling.Row, d *sampling.Decision) {
			d.Insert = []sampling.Insertion{{Gap: int32(r.Step / 2), Count: int32(min(1, r.Room))}}
			if len(r.GapUniform) != len(r.Token)+1 || len(r.FrozenGap) != len(r.Token)+1 || !slices.Equal(r.UnmaskRate, slices.Repeat([]float32{1}, len(r.Token))) || r.Room != 37-len(r.Token) {
				t.Errorf("row of %d: %d uniforms of gaps, frozen %v, unmask rates %v, room %d", len(r.Token), len(r.GapUniform), r.FrozenGap, r.UnmaskRate, r.Room)
			}
		},
		needs: sampling.Needs{InsertionRate: true, UnmaskRate: true, FrozenGap: true, Uniform: true},
		frame: func(c *sampling.LoopConfig) { c.FromZero = true }}
	g.denoiser.seen = func(b *sampling.Batch) { times, lengths[b.L] = append(times, b.Time[0]), true }
	out, _, err := g.do(t)
	if err != nil || len(out[0].Tokens) != 37 {
		t.Fatalf("%v, %d positions", err, len(out[0].Tokens))
	}
	for l := range lengths {
		if l%4 != 0 && l != 37 || l > 37 {
			t.Errorf("a pass over %d positions", l)
		}
	}
	if len(lengths) != 10 {
		t.Errorf("passes of %d lengths, expected those of 4, 8, ... 36 and 37", len(lengths))
	}
	if times[0] != 0 || times[20] != .5 || !slices.IsSorted(times) {
		t.Errorf("times %v, expected 0 at first and growing", times)
	}
	uniforms := func(purpose sampling.Purpose) (u [3]float64) {
		sampling.Stream{Seed: 11}.Uniforms(u[:], 5, 2, 0, purpose)
		return u
	}
	seen := map[string]bool{}
	for p := sampling.PurposeDraw; p <= sampling.PurposeGap; p++ {
		seen[fmt.Sprint(uniforms(p))] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d different streams for 5 purposes", len(seen))
	}
}
