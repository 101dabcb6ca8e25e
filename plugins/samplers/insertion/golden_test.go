package insertion_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/samplers/insertion"
)

// The vocabulary and cap of the reference's runs.
const vocabulary, maskID, padID, longest = 4, 4, 5, 9

// playthrough is a run of the reference (testdata/golden.py), and a session that gives the sampler the same noise and rates.
type playthrough struct {
	Phase                                     float64
	Grid, Events, Confidence, Final, Overflow string
	Steps                                     int
	A                                         float64
	UMax                                      float64 `json:"u_max"`
	TopP                                      float32 `json:"top_p"`
	Temperature                               float32
	Scale                                     float64
	Start                                     [][]int32
	Frozen                                    [][]int
	Seen                                      [][][]int32 // [step, row]

	needs sampling.Needs
	rows  []played
	asked []int // slots of the last Denoise
	stats sampling.Statistics
}

type played struct {
	tokens []int32
	frozen []uint8
	step   int
	done   bool
	got    [][]int32
}

func (p *playthrough) frac(n int, multiplier float64) float64 {
	return math.Mod(float64(float64(n+1)*multiplier)+p.Phase, 1)
}

func (p *playthrough) states(slots []int) (out []sampling.RowState) {
	for _, s := range slots {
		r := &p.rows[s]
		out = append(out, sampling.RowState{Slot: s, Step: r.step, Steps: p.Steps, Length: len(r.tokens), Room: longest - len(r.tokens), Done: r.done})
	}
	return out
}

func (p *playthrough) Admit(context.Context) ([]sampling.RowState, error) {
	if p.rows != nil {
		return nil, nil
	}
	var slots []int
	for s, tokens := range p.Start {
		r := played{tokens: slices.Clone(tokens), frozen: make([]uint8, len(tokens)+1)}
		for _, g := range p.Frozen[s] {
			r.frozen[g] = 1
		}
		p.rows, slots = append(p.rows, r), append(slots, s)
	}
	return p.states(slots), nil
}

func (p *playthrough) Denoise(_ context.Context, rows []sampling.Advance) (*sampling.Step, error) {
	p.asked = p.asked[:0]
	b := sampling.Batch{B: len(p.rows), L: longest, Params: slices.Repeat([]sampling.Params{{Temperature: p.Temperature, TopP: p.TopP}}, len(p.rows))}
	logits := make([]float32, 0, b.B*longest*(vocabulary+2))
	step := &sampling.Step{}
	for _, a := range rows {
		p.asked = append(p.asked, a.Slot)
	}
	for slot := range p.rows {
		r, at, t := &p.rows[slot], slices.Index(p.asked, slot), 0.0
		if at >= 0 {
			t = 1 - rows[at].T
		}
		n, sum := len(r.tokens), 0
		for j, x := range r.tokens {
			sum += int(x+1) * (j + 1)
		}
		of := float64(sum)
		row := sampling.Row{Slot: slot, Step: r.step, Steps: p.Steps, T: 1 - t, Token: r.tokens, FrozenGap: r.frozen, Room: longest - n}
		for i := range longest {
			for k := range vocabulary + 2 {
				logits = append(logits, float32(2*math.Cos(1+float64(i)+2*float64(k)+.5*of+p.Phase+t)))
			}
			draw := r.step*b.B*longest + slot*longest + i
			b.Uniform = append(b.Uniform, p.frac(draw, .6180339887498949))
			b.Tokens, b.Active = append(b.Tokens, padID), append(b.Active, 1)
			if i < n {
				b.Tokens[len(b.Tokens)-1] = int64(r.tokens[i])
				flags := sampling.Flags(0)
				if r.tokens[i] == maskID {
					flags = sampling.Masked | sampling.Eligible
				}
				row.Flags = append(row.Flags, flags)
				row.Uniform = append(row.Uniform, p.frac(draw, .7548776662466927))
				row.UnmaskRate = append(row.UnmaskRate, float32(math.Exp(.7*math.Cos(float64(i)+.3*of+p.Phase))))
			}
		}
		for g := range n + 1 {
			row.InsertionRate = append(row.InsertionRate, float32(math.Exp(math.Cos(2*float64(g)+.7*of+p.Phase)+p.Scale)))
			row.GapUniform = append(row.GapUniform, p.frac(r.step*b.B*(longest+1)+slot*(longest+1)+g, .5698402909980532))
		}
		if at >= 0 {
			step.Rows = append(step.Rows, row)
		}
	}
	head := sampling.Head{Needs: p.needs, Suppress: []int32{maskID, padID}, Filter: p.TopP < 1}
	if err := sampling.Compute(logits, vocabulary+2, &b, head, &p.stats); err != nil {
		return nil, err
	}
	for i := range step.Rows {
		r := &step.Rows[i]
		part := func(s []float32) []float32 {
			if s == nil {
				return nil
			}
			return s[r.Slot*longest:][:len(r.Token)]
		}
		r.P1, r.P2, r.Entropy = part(p.stats.P1), part(p.stats.P2), part(p.stats.Entropy)
	}
	return step, nil
}

func (p *playthrough) Apply(_ context.Context, decisions []sampling.Decision) ([]sampling.RowState, error) {
	for k, slot := range p.asked {
		r, d, from := &p.rows[slot], &decisions[k], slot*longest
		next := slices.Clone(r.tokens)
		for _, i := range d.Open {
			next[i] = p.stats.Proposal[from+int(i)]
		}
		for i := range next {
			if next[i] == maskID && d.Fill == sampling.FillArgmax {
				next[i] = p.stats.TopIDs[from+i]
			} else if next[i] == maskID && d.Fill == sampling.FillDraw {
				next[i] = p.stats.Proposal[from+i]
			}
		}
		counts := map[int]int{}
		for _, in := range d.Insert {
			counts[int(in.Gap)] = int(in.Count)
		}
		grown, frozen := []int32{}, []uint8{}
		for g := range len(next) + 1 {
			grown = append(grown, slices.Repeat([]int32{maskID}, counts[g])...)
			frozen = append(frozen, slices.Repeat([]uint8{r.frozen[g]}, counts[g]+1)...)
			if g < len(next) {
				grown = append(grown, next[g])
			}
		}
		r.tokens, r.frozen, r.step, r.done = grown, frozen, r.step+1, d.Done
		r.got = append(r.got, slices.Clone(grown))
	}
	return p.states(p.asked), nil
}

func (p *playthrough) Emit(context.Context, []int) error { return nil }

func (p *playthrough) Advance(context.Context, []sampling.Advance) ([]sampling.RowState, error) {
	panic("the planner is not asked")
}

func (p *playthrough) Plan(context.Context) ([]sampling.Decision, error) {
	panic("the planner is not asked")
}

// Every run passes through the rows of the reference, draw by draw.
func TestAgainstReference(t *testing.T) {
	var cases []*playthrough
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	for n, p := range cases {
		options, err := json.Marshal(map[string]any{"grid": p.Grid, "u_max": p.UMax, "events": p.Events, "confidence": p.Confidence, "final": p.Final, "overflow": p.Overflow})
		if err != nil {
			t.Fatal(err)
		}
		s := insertion.New()
		p.needs, err = s.Start(t.Context(), sampling.Run{Options: options, Temperature: float64(p.Temperature),
			Insertion: &sampling.Growth{Gap: sampling.GapTail, Cap: longest, A: p.A}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sample(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for slot := range p.rows {
			got := p.rows[slot].got
			for len(got) < len(p.Seen) { // nothing could change any more
				got = append(got, got[len(got)-1])
			}
			var want [][]int32
			for _, step := range p.Seen {
				want = append(want, step[slot])
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("case %d %s, %d steps, row %d (-reference +ours):\n%s", n, options, p.Steps, slot, diff)
			}
		}
	}
	if len(cases) != 33 {
		t.Errorf("%d runs, expected 33", len(cases))
	}
}
