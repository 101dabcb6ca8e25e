package insertion_test

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/insertion/exact"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/insertion"
)

// wild returns heads that are a function of the row alone, with rates up to a scale.
func wild(seed uint64, v int, scale float64) func(row []int32, u float64) exact.Heads {
	return func(row []int32, _ float64) exact.Heads {
		h := fnv.New64a()
		for _, token := range row {
			_, _ = h.Write([]byte{byte(token)})
		}
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		out := exact.Heads{Known: true, UnmaskRate: make([]float64, len(row)), InsertionRate: make([]float64, len(row)+1)}
		for g := range out.InsertionRate {
			if rng.IntN(3) > 0 {
				out.InsertionRate[g] = scale * rng.Float64()
			}
		}
		for i := range row {
			out.UnmaskRate[i] = scale * rng.Float64()
			k := make([]float64, v)
			for j := range k {
				k[j] = rng.Float64() + 0.01
			}
			out.Tokens = append(out.Tokens, k)
		}
		return out
	}
}

// Whatever the rates, options and rows: a run ends within its steps, without masks and within the cap, given tokens stay in order and
// with nothing in frozen gaps, the end of a row with an end token stays the end, and a row is a function of the seed and itself.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(1, 4).Draw(t, "tokens")
		s := setting{law: exact.Law{V: v}, steps: rapid.SampledFrom([]int{1, 2, 7, 30}).Draw(t, "steps"), batch: rapid.IntRange(1, 5).Draw(t, "batch")}
		s.heads = wild(rapid.Uint64().Draw(t, "model"), v, rapid.SampledFrom([]float64{0, 1, 30, 1e6, 3e38}).Draw(t, "scale"))
		s.temperature = rapid.SampledFrom([]float32{0.5, 1, 2}).Draw(t, "temperature")
		of := func(name string, values ...string) string {
			return `"` + name + `":"` + rapid.SampledFrom(values).Draw(t, name) + `"`
		}
		options := []string{of("events", "integrated", "poisson", "euler"), of("final", "draw", "argmax"), of("overflow", "reject", "truncate"),
			of("confidence", "none", "top_prob", "prob_diff", "entropy", "rates", "top_rate")}
		if !strings.Contains(options[3], "none") && rapid.Bool().Draw(t, "windows") {
			options = append(options, `"window":true`)
		}
		if rapid.Bool().Draw(t, "adaptive") {
			options = append(options, `"max_rate_step":0.3`)
		} else {
			options = append(options, of("grid", "clock", "code", "uniform"))
		}
		s.options = "{" + strings.Join(options, ",") + "}"
		for range rapid.IntRange(0, 4).Draw(t, "given") {
			s.start = append(s.start, int32(rapid.SampledFrom([]int{0, v - 1, v + 1}).Draw(t, "token"))) // masks among them
			s.frozen = append(s.frozen, rapid.Bool().Draw(t, "frozen"))
		}
		s.frozen = append(s.frozen, rapid.Bool().Draw(t, "frozen"))
		if len(s.start) > 0 && rapid.Bool().Draw(t, "ends") {
			s.gap, s.start[len(s.start)-1] = sampling.GapEOS, 0
		}
		s.cap = max(len(s.start), 1) + rapid.IntRange(0, 6).Draw(t, "room")
		results := s.sample(t, 4, 1)
		for _, r := range results {
			if len(r.Tokens) > s.cap || r.NFE > s.steps || slices.ContainsFunc(r.Tokens, func(token int32) bool { return token < 0 || int(token) >= v }) {
				t.Fatalf("%v: %d passes, row %v, at most %d positions", s, r.NFE, r.Tokens, s.cap)
			}
			at := 0 // of the given token that comes next
			for i, born := range r.Born {
				switch {
				case born >= 0 && s.frozen[at]:
					t.Fatalf("%v: position %d of %v was inserted into frozen gap %d", s, i, r.Tokens, at)
				case born >= 0:
				case int(s.start[at]) < v && s.start[at] != r.Tokens[i]:
					t.Fatalf("%v: given token %d of %v changed in %v", s, at, s.start, r.Tokens)
				default:
					at++
				}
			}
			if at != len(s.start) || s.gap == sampling.GapEOS && r.Born[len(r.Born)-1] >= 0 {
				t.Fatalf("%v: of %v given, %v came", s, s.start, r.Tokens)
			}
		}
		s.batch = 1
		if diff := cmp.Diff(tokens(results), tokens(s.sample(t, 4, 1)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%v: rows depend on their neighbours (-among others +alone):\n%s", s, diff)
		}
	})
}

// What the cap refuses is told and counted: the whole row's insertions of the step, or what does not fit. Rates beyond all bounds ask for
// one more than there is room for, and so no draw takes long.
func TestOverflow(t *testing.T) {
	huge := func(row []int32, _ float64) exact.Heads {
		h := exact.Heads{Known: true, UnmaskRate: make([]float64, len(row)), InsertionRate: slices.Repeat([]float64{3e38}, len(row)+1)}
		for range row {
			h.Tokens = append(h.Tokens, []float64{1})
		}
		return h
	}
	for overflow, length := range map[string]int{"reject": 0, "truncate": 9} {
		refused := 0.0
		s := setting{law: exact.Law{V: 1}, heads: huge, steps: 5, cap: 9, options: `{"overflow":"` + overflow + `"}`,
			metrics: func(m map[string]float64) { refused += m["refused"] }}
		r := s.sample(t, 1, 1)[0]
		if len(r.Tokens) != length || r.Finish != sampling.FinishLength || r.Capped == 0 || refused == 0 {
			t.Errorf("%s: %d positions, finish %s, %d steps capped, %v refused; expected %d positions", overflow, len(r.Tokens), r.Finish, r.Capped, refused, length)
		}
	}
}

// With max_rate_step no gap or mask has a rate times dU above it as long as the cap on steps allows that, and rows take fewer passes.
func TestMaxRateStep(t *testing.T) {
	for _, c := range []struct {
		steps int
		holds bool
	}{{400, true}, {150, true}, {20, false}} {
		most, passes := 0.0, 0
		s := setting{law: exact.Toy(), options: `{"max_rate_step":0.1}`, steps: c.steps, cap: 6, metrics: func(m map[string]float64) { most = max(most, m["max_overshoot"]) }}
		results := s.sample(t, 200, 3)
		for _, r := range results {
			passes += r.NFE
		}
		if (most <= 0.1+1e-9) != c.holds || passes >= 200*c.steps {
			t.Errorf("%d steps: a gap was expected to receive up to %.3f masks, in %d passes of 200 rows", c.steps, most, passes)
		}
	}
}

// A row that can neither grow nor open is finished at once, and one that is given whole asks for nothing.
func TestNothingToDo(t *testing.T) {
	s := setting{law: exact.Toy(), options: `{}`, steps: 50, cap: 6, start: []int32{0, 1}, frozen: []bool{true, true, true}}
	if r := s.sample(t, 1, 1)[0]; r.NFE != 0 || r.Finish != sampling.FinishComplete {
		t.Errorf("frozen: %d passes, finish %s", r.NFE, r.Finish)
	}
	s.frozen, s.cap = nil, 2
	if r := s.sample(t, 1, 1)[0]; r.NFE != 1 || r.Finish != sampling.FinishComplete && r.Finish != sampling.FinishLength {
		t.Errorf("without room: %d passes, finish %s", r.NFE, r.Finish)
	}
}

func TestRefused(t *testing.T) {
	grows := &sampling.Growth{Gap: sampling.GapTail, Cap: 8, A: 1}
	for options, hint := range map[string]string{`{"window":true}`: "sampler.confidence", `{"u_max":5,"grid":"code"}`: "sampler.grid", `{"max_rate_step":0.1,"grid":"uniform"}`: "sampler.grid",
		`{"grid":"log"}`: "mdmhost plugin info insertion", `{"u_max":-1}`: "mdmhost plugin info insertion"} {
		_, err := insertion.New().Start(t.Context(), sampling.Run{Options: []byte(options), Insertion: grows})
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("options %s: %v, expected a refusal that names %s", options, err, hint)
		}
	}
	_, err := insertion.New().Start(t.Context(), sampling.Run{Options: []byte(`{}`), Exponents: []float32{1, 2}})
	if err == nil || !strings.Contains(err.Error(), "--planner genmd4") {
		t.Errorf("a model whose tokens have speeds: %v, expected a refusal that names the planner for it", err)
	}
}

// A sampler asks for what its run has and its options read, so that a masked model is asked for no rates.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		options     string
		grows       bool
		temperature float64
		want        string
	}{
		{`{}`, true, 1, "uniform, insertion_rate, unmask_rate, frozen_gap"},
		{`{}`, false, 1, "uniform"},
		{`{"confidence":"top_rate","final":"argmax"}`, true, 0, "p1, uniform, insertion_rate, unmask_rate, frozen_gap"},
		{`{"confidence":"prob_diff","final":"argmax"}`, false, 0.7, "p1(on=tempered), p2(on=tempered), uniform, topk(1)"},
		{`{"confidence":"entropy"}`, false, 0.7, "entropy(on=model), uniform"},
	} {
		run := sampling.Run{Options: []byte(c.options), Temperature: c.temperature}
		if c.grows {
			run.Insertion = &sampling.Growth{Gap: sampling.GapEOS, Cap: 8, A: 1}
		}
		got, err := insertion.New().Start(t.Context(), run)
		if err != nil || got.String() != c.want {
			t.Errorf("%s, grows %t: needs %s, %v; expected %s", c.options, c.grows, got, err, c.want)
		}
	}
}

// The law of prompts and infills is the conditional one: given its frozen start, a row goes on as the law says. The bound on the total
// variation is met by chance in all but one case in 10^8; steps add at most 0.03 here.
func TestPromptFollowsTheConditionalLaw(t *testing.T) {
	law := exact.Law{V: 2, Strings: [][]int32{{0}, {0, 0}, {0, 1}, {0, 1, 1}}, P: []float64{.4, .1, .3, .2}}
	given := law // the exact posterior where the first token was there from the start
	given.BIn = [][]float64{{1e9}, {1e9, 1}, {1e9, 1}, {1e9, 1, 1}}
	given.BUm = given.BIn
	s := setting{law: given, options: `{}`, steps: 128, cap: 4, start: []int32{0}, frozen: []bool{true, false}}
	tv, _, chance := law.Distance(tokens(s.sample(t, 2000, 8)))
	if tv > chance+0.03 || math.IsNaN(tv) {
		t.Errorf("total variation %.3f from the conditional law, expected at most %.3f", tv, chance+0.03)
	}
}
