package sampling_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Edits, credits, kl_prev and top-p by both rules, over passes of a row, are what numpy says (testdata/memory.py).
func TestMemoryAgainstReference(t *testing.T) {
	text, err := os.ReadFile("testdata/memory.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Edits struct {
			Bias                                 [][2]float32
			Repetition, Left, Alpha, Gamma, Beta float32
		}
		Params struct {
			Temperature float32
			TopP        float32 `json:"top_p"`
			Below       bool
		}
		Passes []struct {
			Fresh    bool
			Tokens   []int64
			Logits   [][]float32
			Uniform  []float64
			KL       []*float64
			P1, Logp []float64
			Proposal []int32
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	var memory sampling.Memory // one for all: a fresh row forgets what was in its slot
	for n, c := range cases {
		head := sampling.Head{Needs: sampling.Needs{P1: true, KLPrev: true, LogpProposal: sampling.OnSampling}, Suppress: []int32{6}, Filter: true, Below: c.Params.Below,
			Edits: sampling.Edits{Repetition: c.Edits.Repetition, Left: c.Edits.Left, Credit: sampling.Credit{Alpha: c.Edits.Alpha, Gamma: c.Edits.Gamma, Beta: c.Edits.Beta}}}
		for _, b := range c.Edits.Bias {
			head.Edits.Bias = append(head.Edits.Bias, sampling.Bias{Token: int32(b[0]), Value: b[1]})
		}
		for step, p := range c.Passes {
			l := len(p.Tokens)
			batch := &sampling.Batch{B: 1, L: l, Tokens: p.Tokens, Active: []uint8{1, 1, 1, 1, 1}, Slots: []int32{int32(n % 3)}, Fresh: []uint8{0}, Uniform: p.Uniform,
				Params: []sampling.Params{{Temperature: c.Params.Temperature, TopP: c.Params.TopP}}}
			if p.Fresh {
				batch.Fresh[0] = 1
			}
			var logits []float32
			for _, row := range p.Logits {
				for _, z := range row {
					logits = append(logits, z/16)
				}
			}
			var st sampling.Statistics
			if err := memory.Compute(logits, 7, batch, head, &st); err != nil {
				t.Fatal(err)
			}
			for i := range l {
				kl := math.Inf(1)
				if p.KL[i] != nil {
					kl = *p.KL[i]
				}
				if !near(st.KLPrev[i], kl) || !near(st.P1[i], p.P1[i]) || st.Proposal[i] != p.Proposal[i] || !near(st.LogpProposal[i], p.Logp[i]) {
					t.Errorf("case %d %+v %+v, pass %d, position %d: kl %g, p1 %g, proposal %d (%g), want %g, %g, %d (%g)", n, c.Edits, c.Params, step, i,
						st.KLPrev[i], st.P1[i], st.Proposal[i], st.LogpProposal[i], kl, p.P1[i], p.Proposal[i], p.Logp[i])
				}
			}
		}
	}
}

func near(a float32, b float64) bool { return float64(a) == b || math.Abs(float64(a)-b) <= 2e-6 }

// What did not change diverges by 0 exactly; what was not in the pass before has no past; a fault ends it, and so does a
// fresh row.
func TestMemoryForgets(t *testing.T) {
	nan := float32(math.NaN())
	var memory sampling.Memory
	head := sampling.Head{Needs: sampling.Needs{KLPrev: true}, Edits: sampling.Edits{Credit: sampling.Credit{Alpha: 1, Beta: 0.5}}, Suppress: []int32{2}}
	inf := float32(math.Inf(1))
	for step, c := range []struct {
		active []uint8
		first  float32 // logit of token 0 at position 1
		fresh  uint8
		known  []bool
	}{
		{[]uint8{1, 1, 1}, 1, 1, []bool{false, false, false}},
		{[]uint8{1, 1, 1}, 1, 0, []bool{true, true, true}},
		{[]uint8{1, 1, 0}, 1, 0, []bool{true, true, false}},
		{[]uint8{1, 1, 1}, nan, 0, []bool{true, false, false}},
		{[]uint8{1, 1, 1}, 1, 0, []bool{true, false, true}},
		{[]uint8{1, 1, 1}, 1, 1, []bool{false, false, false}},
	} {
		batch := &sampling.Batch{B: 1, L: 3, Tokens: []int64{0, 2, 2}, Active: c.active, Slots: []int32{4}, Fresh: []uint8{c.fresh}, Params: []sampling.Params{{TopP: 1}}}
		var st sampling.Statistics
		if err := memory.Compute([]float32{1, 0, 0, c.first, 0, 0, 1, 0, 0}, 3, batch, head, &st); err != nil {
			t.Fatal(err)
		}
		for i, known := range c.known {
			got := st.KLPrev[i]
			switch fault := c.first != c.first && i == 1; {
			case c.active[i] == 0:
			case fault && got == got, !fault && !known && got != inf, known && !(got < 1):
				t.Errorf("pass %d, position %d: kl_prev %g, known %v", step, i, got, known)
			case known && i == 0 && got != 0: // written: its credit stays 0, so nothing changes
				t.Errorf("pass %d: kl_prev %g where nothing changed", step, got)
			}
		}
	}
	batch := &sampling.Batch{B: 2, L: 1, Tokens: []int64{0, 0}, Active: []uint8{1, 1}, Slots: []int32{1, 1}, Fresh: []uint8{1, 1}, Params: make([]sampling.Params, 2)}
	if err := memory.Compute(make([]float32, 6), 3, batch, head, &sampling.Statistics{}); err == nil {
		t.Error("two rows in one slot were accepted")
	}
}

// A pass with memory allocates nothing once slots are as long as their rows.
func TestMemoryAllocations(t *testing.T) {
	const b, l, v = 2, 6, 9
	batch := &sampling.Batch{B: b, L: l, Tokens: make([]int64, b*l), Active: make([]uint8, b*l), Slots: []int32{1, 0}, Fresh: make([]uint8, b), Params: make([]sampling.Params, b)}
	for i := range batch.Active {
		batch.Active[i] = 1
	}
	head := sampling.Head{Needs: sampling.Needs{KLPrev: true, P1: true}, Edits: sampling.Edits{Repetition: 1.2, Left: 1, Credit: sampling.Credit{Alpha: 1, Gamma: 0.2, Beta: 0.5}}}
	var memory sampling.Memory
	var st sampling.Statistics
	logits := make([]float32, b*l*v)
	pass := func() {
		if err := memory.Compute(logits, v, batch, head, &st); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	if n := testing.AllocsPerRun(20, pass); n > 0 {
		t.Errorf("%v allocations a pass", n)
	}
}
