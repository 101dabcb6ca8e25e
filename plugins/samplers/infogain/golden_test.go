package infogain_test

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
	"github.com/mdmhost/mdmhost/plugins/samplers/infogain"
)

// playthrough is a whole run of the reference (testdata/golden.py), and a session that gives the sampler the same noise.
type playthrough struct {
	Options json.RawMessage
	Phase   float64
	Seen    [][]int32
	Passes  []int
	J       []*float64

	t        *testing.T
	needs    sampling.Needs
	tokens   []int32
	got      [][]int32
	passes   []int
	admitted bool
	proposal []int32
}

const v, mask = 3, 3

func frac(i int, multiplier, phase float64) float64 {
	return math.Mod(float64(float64(i+1)*multiplier)+phase, 1)
}

func (p *playthrough) state() sampling.RowState {
	masked := 0
	for _, x := range p.tokens {
		if x == mask {
			masked++
		}
	}
	return sampling.RowState{Step: len(p.passes), Steps: len(p.tokens), Blanks: len(p.tokens), Masked: masked, Done: masked == 0}
}

func (p *playthrough) Admit(context.Context) ([]sampling.RowState, error) {
	if p.admitted {
		return nil, nil
	}
	p.admitted = true
	return []sampling.RowState{p.state()}, nil
}

func (p *playthrough) Denoise(_ context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	out := &sampling.Step{}
	if len(rows[0].Trial) == 0 {
		if len(rows) != 1 {
			p.t.Errorf("%d rows without trials", len(rows))
		}
		p.got, p.passes = append(p.got, slices.Clone(p.tokens)), append(p.passes, 0)
	}
	for _, a := range rows {
		tokens := slices.Clone(p.tokens)
		for _, w := range a.Trial {
			if tokens[w.Position] != mask || w.Token != p.proposal[w.Position] {
				p.t.Errorf("tries %+v beside %v", w, tokens)
			}
			tokens[w.Position] = w.Token
		}
		r, err := p.row(tokens, len(p.passes)-1)
		if err != nil {
			return nil, err
		}
		if len(a.Trial) == 0 {
			p.proposal = slices.Clone(r.Proposal)
		}
		p.passes[len(p.passes)-1]++
		out.Rows = append(out.Rows, r)
	}
	return out, nil
}

// row is what the host tells of a canvas.
func (p *playthrough) row(tokens []int32, step int) (sampling.Row, error) {
	n, sum := len(tokens), 0.0
	for j, x := range tokens {
		if x != mask {
			sum += float64(int(x+1) * (j + 1))
		}
	}
	b := sampling.Batch{B: 1, L: n, Params: []sampling.Params{{Temperature: 1, TopP: 1}}, Active: bytes.Repeat([]byte{1}, n)}
	r := sampling.Row{T: 1, Step: step, Steps: n, Blanks: n, Token: tokens, Flags: make([]sampling.Flags, n), Uniform: make([]float64, n)}
	r.Uniform[0] = frac(step, 0.4142135623730951, p.Phase)
	var logits []float32
	for i, x := range tokens {
		b.Tokens = append(b.Tokens, int64(x))
		if x == mask {
			r.Flags[i] = sampling.Masked | sampling.Eligible
		}
		for k := range v {
			logits = append(logits, float32(2*math.Cos(1+float64(i)+2*float64(k)+0.5*sum+p.Phase)))
			b.Gumbel = append(b.Gumbel, -math.Log(-math.Log(frac((step*n+i)*v+k, 0.6180339887498949, p.Phase))))
		}
	}
	var st sampling.Statistics
	err := sampling.Compute(logits, v, &b, sampling.Head{Needs: p.needs, Draw: sampling.DrawGumbel}, &st)
	r.Proposal, r.LogpProposal, r.Entropy = st.Proposal, st.LogpProposal, st.Entropy
	return r, err
}

func (p *playthrough) Apply(_ context.Context, decisions []sampling.Decision) ([]sampling.RowState, error) {
	step := len(p.passes) - 1
	j, weighed := decisions[0].Metrics["j"]
	if want := p.J[step]; weighed != (want != nil) || weighed && math.Abs(j-*want) > 1e-6 {
		p.t.Errorf("step %d: J %v, the reference's %v", step, j, want)
	}
	for _, i := range decisions[0].Open {
		p.tokens[i] = p.proposal[i]
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

// Every set of options passes through the canvases of the reference, at least 200 of them, with its forward passes.
func TestAgainstReference(t *testing.T) {
	var cases []*playthrough
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	states := map[string]int{}
	for n, p := range cases {
		p.t, p.tokens = t, slices.Clone(p.Seen[0])
		s := infogain.New()
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
		if diff := cmp.Diff(p.Passes, p.passes); diff != "" {
			t.Fatalf("case %d %s: forward passes (-reference +ours):\n%s", n, p.Options, diff)
		}
		states[string(p.Options)] += len(p.Passes)
	}
	for options, n := range states {
		if n < 200 {
			t.Errorf("%s: %d states, expected at least 200", options, n)
		}
	}
	if len(states) != 12 {
		t.Errorf("%d sets of options, expected 12", len(states))
	}
}
