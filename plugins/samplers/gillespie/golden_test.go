package gillespie_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/gillespie"
)

// playthrough is a whole run of the reference (testdata/golden.py), and a session that gives the sampler the same noise.
type playthrough struct {
	Options json.RawMessage
	Phase   float64
	Seen    [][]int32

	t        *testing.T
	needs    sampling.Needs
	tokens   []int32
	step     int // of the reference: drawing anew belongs to the step that masked the position
	again    bool
	got      [][]int32
	admitted bool
	proposal []int32
}

const v, mask = 3, 3

func (p *playthrough) frac(i int, multiplier float64) float64 {
	return math.Mod(float64(float64(i+1)*multiplier)+p.Phase, 1)
}

func (p *playthrough) state() sampling.RowState {
	masked := 0
	for _, x := range p.tokens {
		if x == mask {
			masked++
		}
	}
	return sampling.RowState{Steps: 1000, Blanks: len(p.tokens), Masked: masked, Done: masked == 0}
}

func (p *playthrough) Admit(context.Context) ([]sampling.RowState, error) {
	if p.admitted {
		return nil, nil
	}
	p.admitted = true
	return []sampling.RowState{p.state()}, nil
}

func (p *playthrough) Denoise(_ context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	if a := rows[0]; a.T != float64(p.state().Masked)/float64(len(p.tokens)) || a.S >= a.T || a.AlphaT != 1-a.T || a.AlphaS != 1-a.S {
		p.t.Errorf("%d of %d masked: advances %+v", p.state().Masked, len(p.tokens), a)
	}
	p.got = append(p.got, slices.Clone(p.tokens))
	n, sum := len(p.tokens), 0.0
	for j, x := range p.tokens {
		if x != mask {
			sum += float64(int(x+1) * (j + 1))
		}
	}
	multiplier := 0.6180339887498949
	if p.again {
		multiplier = 0.7548776662466927
	}
	b := sampling.Batch{B: 1, L: n, Params: []sampling.Params{{Temperature: 1, TopP: 1}}, Active: bytes.Repeat([]byte{1}, n)}
	r := sampling.Row{Steps: 1000, Token: p.tokens, Flags: make([]sampling.Flags, n), Uniform: make([]float64, n)}
	r.Uniform[0] = p.frac(p.step, 0.4142135623730951)
	var logits []float32
	for i, x := range p.tokens {
		b.Tokens = append(b.Tokens, int64(x))
		if x == mask {
			r.Flags[i] = sampling.Masked | sampling.Eligible
		}
		for k := range v {
			logits = append(logits, float32(2*math.Cos(1+float64(i)+2*float64(k)+0.5*sum+p.Phase)))
			b.Gumbel = append(b.Gumbel, -math.Log(-math.Log(p.frac((p.step*n+i)*v+k, multiplier))))
		}
	}
	var st sampling.Statistics
	if err := sampling.Compute(logits, v, &b, sampling.Head{Needs: p.needs, Draw: sampling.DrawGumbel, Present: true}, &st); err != nil {
		return nil, err
	}
	r.Proposal, r.LogpProposal, r.LogpCurrent, r.P1, r.P2, r.Entropy = st.Proposal, st.LogpProposal, st.LogpCurrent, st.P1, st.P2, st.Entropy
	p.proposal = st.Proposal
	return &sampling.Step{Rows: []sampling.Row{r}}, nil
}

func (p *playthrough) Apply(_ context.Context, decisions []sampling.Decision) ([]sampling.RowState, error) {
	d := decisions[0]
	if len(d.Open)+len(d.Remask) != 1 || d.Fill != sampling.FillNone {
		p.t.Errorf("decides %+v, expected one position", d)
	}
	for _, i := range d.Open {
		p.tokens[i] = p.proposal[i]
	}
	for _, i := range d.Remask {
		p.tokens[i] = mask
	}
	if p.again = len(d.Remask) > 0; !p.again {
		p.step++
	}
	return []sampling.RowState{p.state()}, nil
}

func (p *playthrough) Emit(context.Context, []int) error {
	p.got = append(p.got, slices.Clone(p.tokens))
	return nil
}

func (p *playthrough) Advance(context.Context, []sampling.Advance) ([]sampling.RowState, error) {
	panic("the planner is not asked")
}

func (p *playthrough) Plan(context.Context) ([]sampling.Decision, error) {
	panic("the planner is not asked")
}

// Every pair of weights passes through the canvases of the reference, at least 200 of them.
func TestAgainstReference(t *testing.T) {
	var cases []*playthrough
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	states := map[string]int{}
	for n, p := range cases {
		p.t, p.tokens = t, slices.Clone(p.Seen[0])
		s := gillespie.New()
		var err error
		if p.needs, err = s.Start(t.Context(), sampling.Run{Options: p.Options}); err != nil {
			t.Fatal(err)
		}
		if err := s.Sample(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Seen, p.got); diff != "" {
			t.Fatalf("case %d %s (-reference +ours):\n%s", n, p.Options, diff)
		}
		states[string(p.Options)] += len(p.Seen) - 1
	}
	for options, n := range states {
		if n < 200 {
			t.Errorf("%s: %d states, expected at least 200", options, n)
		}
	}
	if len(states) != 16 {
		t.Errorf("%d pairs of weights, expected 16", len(states))
	}
}
