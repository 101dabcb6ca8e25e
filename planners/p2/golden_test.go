package p2_test

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/internal/try"
	"github.com/mdmhost/mdmhost/planners/p2"
)

// golden is the file that testdata/golden.py describes.
type golden struct {
	Trajectories []struct {
		Options   json.RawMessage
		Steps     int
		Tokens    []int32
		Fixed     []int
		Proposals [][]int32
		Scores    [][]float32
		After     [][]int32
	}
	States       []state
	Cases        [][4]json.RawMessage // state, options, step acted as, masked positions as bits
	RDM, Vectors []playthrough
}

func read(t *testing.T) (g golden) {
	t.Helper()
	goldenfile.Read(t, "testdata/golden.json.gz", &g)
	return g
}

// started returns the planner at the start of a run whose runtime serves a planner network, too.
func started(t *testing.T, options json.RawMessage) (sampling.Planner, sampling.Needs) {
	t.Helper()
	p := p2.New()
	needs, err := p.Start(context.Background(), sampling.Run{ID: "golden", Options: options, MaskID: try.Mask, V: try.Mask,
		Capabilities: sampling.Capabilities{Serves: sampling.Needs{PlannerScore: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return p, needs
}

func TestTrajectories(t *testing.T) {
	for n, c := range read(t).Trajectories {
		p, _ := started(t, c.Options)
		x := c.Tokens
		for step := 0; step < c.Steps; {
			row := try.Row(x, step, c.Steps, c.Fixed...)
			row.LogpProposal, row.LogpCurrent = c.Scores[step], c.Scores[step]
			d := try.Ask(t, p, row)
			if d.ActedAs > step { // the steps between must change nothing, and the next must decide with its own scores
				for ; step < d.ActedAs; step++ {
					if diff := cmp.Diff(x, c.After[step]); diff != "" {
						t.Fatalf("case %d %s: step %d was skipped (-before +reference):\n%s", n, c.Options, step, diff)
					}
				}
				continue
			}
			x = apply(x, c.Proposals[step], d)
			if diff := cmp.Diff(c.After[step], x); diff != "" {
				t.Fatalf("case %d %s, step %d of %d (-reference +ours):\n%s", n, c.Options, step, c.Steps, diff)
			}
			step++
		}
	}
}

// state is a row with the logits of its pass, in 1/64, its noise, in 1/4096, and the scores of a network, in -1/64.
type state struct {
	T            float32
	X            []int32
	Fixed        []bool
	Logits, Tok  [][]float64 // [L, V]
	U, Plan, Net []float64   // [L]
	Steps, Step  int
}

func gumbel(u float64) float64 { return -math.Log(-math.Log(u)) }

// row computes the statistics that are needed, as the host does.
func (s state) row(t *testing.T, needs sampling.Needs) sampling.Row {
	t.Helper()
	v := len(s.Logits[0])
	var tokens []int32
	var fixed []int
	for i, x := range s.X {
		if int(x) == v {
			x = try.Mask
		}
		tokens = append(tokens, x)
		if s.Fixed[i] {
			fixed = append(fixed, i)
		}
	}
	r := try.Row(tokens, s.Step, s.Steps, fixed...)
	var logits []float32
	var noise []float64
	for i := range s.Logits {
		for k := range v {
			logits = append(logits, float32(s.Logits[i][k]/64))
			noise = append(noise, gumbel(s.Tok[i][k]/4096))
		}
		r.Uniform = append(r.Uniform, s.U[i]/4096)
		r.Gumbel = append(r.Gumbel, gumbel(s.Plan[i]/4096))
		r.PlannerScore = append(r.PlannerScore, float32(-s.Net[i]/64))
	}
	see(t, &r, logits, noise, s.T, needs)
	return r
}

// see fills the statistics of the row's free positions.
func see(t *testing.T, r *sampling.Row, logits []float32, noise []float64, temperature float32, needs sampling.Needs) {
	t.Helper()
	n := len(r.Token)
	b := sampling.Batch{B: 1, L: n, Params: []sampling.Params{{Temperature: temperature, TopP: 1}}, Gumbel: noise}
	for i, token := range r.Token {
		b.Tokens = append(b.Tokens, int64(token))
		active := uint8(1)
		if r.Flags[i]&sampling.Fixed != 0 {
			active = 0
		}
		b.Active = append(b.Active, active)
	}
	var st sampling.Statistics
	if err := sampling.Compute(logits, len(logits)/n, &b, sampling.Head{Needs: needs, Draw: sampling.DrawGumbel, Present: true}, &st); err != nil {
		t.Fatal(err)
	}
	r.Proposal, r.LogpProposal, r.LogpCurrent, r.P1, r.P2, r.Entropy = st.Proposal, st.LogpProposal, st.LogpCurrent, st.P1, st.P2, st.Entropy
}

// Every pair of scores masks what the reference masks, from at least 200 states.
func TestAgainstReference(t *testing.T) {
	g, count := read(t), map[string]int{}
	for n, c := range g.Cases {
		var at, acted, masked int
		for i, to := range []*int{&at, nil, &acted, &masked} {
			if to != nil {
				if err := json.Unmarshal(c[i], to); err != nil {
					t.Fatal(err)
				}
			}
		}
		var kind struct {
			M string `json:"mask_score"`
			U string `json:"unmask_score"`
			T string `json:"unmask_token"`
		}
		if err := json.Unmarshal(c[1], &kind); err != nil {
			t.Fatal(err)
		}
		count[strings.Join([]string{kind.M, kind.U, kind.T}, " ")]++
		p, needs := started(t, c[1])
		row := g.States[at].row(t, needs)
		d, got := try.Ask(t, p, row), 0
		for i, token := range apply(row.Token, row.Proposal, d) {
			if token == try.Mask {
				got |= 1 << i
			}
		}
		if got != masked || max(d.ActedAs, row.Step) != acted {
			t.Fatalf("case %d %s, state %d: masks %b as step %d, the reference %b as step %d", n, c[1], at, got, max(d.ActedAs, row.Step), masked, acted)
		}
	}
	for kind, n := range count {
		if n < 200 {
			t.Errorf("scores %q: %d cases, expected at least 200", kind, n)
		}
	}
	if len(count) != 12 {
		t.Errorf("%d pairs of scores, expected 12", len(count))
	}
}

// playthrough is a whole run under the formulas of testdata/golden.py.
type playthrough struct {
	Options       json.RawMessage
	Steps, Length int
	Phase         float64
	After         [][]int32
}

// frac is the noise of entry i.
func (c playthrough) frac(i int, multiplier float64) float64 {
	return math.Mod(float64(float64(i+1)*multiplier)+c.Phase, 1)
}

// look gives the row the logits 2 cos(1 + i + 2 v + s/2 + phase), s = sum over written j of (x_j + 1)(j + 1), and the step's noise.
func (c playthrough) look(t *testing.T, row *sampling.Row, needs sampling.Needs) {
	const v = 3
	sum := 0.0
	for j, token := range row.Token {
		if token != try.Mask {
			sum += float64(int(token+1) * (j + 1))
		}
	}
	var logits []float32
	var noise []float64
	for i := range c.Length {
		at := row.Step*c.Length + i
		for k := range v {
			logits = append(logits, float32(2*math.Cos(1+float64(i)+2*float64(k)+0.5*sum+c.Phase)))
			noise = append(noise, gumbel(c.frac(at*v+k, 0.6180339887498949)))
		}
		// One position is either masked or written, so that one uniform of the host serves both of the reference.
		u := c.frac(at, 0.7548776662466927)
		if row.Token[i] != try.Mask {
			u = c.frac(at, 0.5698402909980532)
		}
		row.Uniform = append(row.Uniform, u)
		row.Gumbel = append(row.Gumbel, gumbel(c.frac(at, 0.4142135623730951)))
	}
	see(t, row, logits, noise, 1, needs)
}

// play runs a row as far as it has masks: there the host ends it.
func (c playthrough) play(t *testing.T, n int) {
	t.Helper()
	p, needs := started(t, c.Options)
	x := try.Blank(c.Length)
	for step := range c.Steps {
		row := try.Row(x, step, c.Steps)
		c.look(t, &row, needs)
		d := try.Ask(t, p, row)
		if d.ActedAs > step { // nothing changes until then
			if diff := cmp.Diff(x, masks(c.After[step])); diff != "" {
				t.Fatalf("case %d %s: step %d was skipped (-before +reference):\n%s", n, c.Options, step, diff)
			}
			continue
		}
		x = apply(x, row.Proposal, d)
		if diff := cmp.Diff(masks(c.After[step]), x); diff != "" {
			t.Fatalf("case %d %s, step %d of %d (-reference +ours):\n%s", n, c.Options, step, c.Steps, diff)
		}
		if count(x) == 0 {
			return
		}
	}
}

// masks writes the mask of the formulas as that of the tests.
func masks(tokens []int32) (out []int32) {
	for _, token := range tokens {
		if token == 3 {
			token = try.Mask
		}
		out = append(out, token)
	}
	return out
}

// The loop of RDM, conditional or not, is P2 at eta 1 with scores of redrawn tokens.
func TestRDM(t *testing.T) {
	cases := read(t).RDM
	for n, c := range cases {
		c.play(t, n)
	}
	if len(cases) < 150 {
		t.Errorf("%d cases, expected more", len(cases))
	}
}

func TestGoldenVectors(t *testing.T) {
	cases := read(t).Vectors
	for n, c := range cases {
		c.play(t, n)
	}
	if len(cases) != 8 {
		t.Errorf("%d vectors, expected those of p2_papl.py, 8", len(cases))
	}
}
