package loflexmdm_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mdmhost/mdmhost/framework/insertion"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
)

// TestTheGradientIsUnbiased gives the training graph every pair of states of one string at one time, weighs the rows' gradients for
// the order network's scores with the pairs' probabilities, and compares with the slope of the enumerated expectation of the
// loss (methods/loflexmdm.md, section 4.4).
func TestTheGradientIsUnbiased(t *testing.T) {
	for _, c := range []pairing{
		{options: `{"l2": 0, "stretch": 1}`, a: 1, stretch: 1, speeds: func(s []float64) (bIn, bUm []float64) { return centred(s, 0, 2), ones() }},
		{options: `{"l2": 0, "b_um": "trainable", "a": 2}`, a: 2, stretch: 2, trains: true, speeds: func(s []float64) (bIn, bUm []float64) {
			return centred(s, 0, 2), centred(s, 1, 1)
		}},
		{options: `{"reg": "off", "speeds": "exp", "b_um": "trainable"}`, a: 1, stretch: 2, trains: true, speeds: func(s []float64) (bIn, bUm []float64) {
			bIn, bUm = ones(), ones()
			for j := range width - 1 {
				bIn[j], bUm[j] = 1.01+math.Exp(s[2*j]), 1.01+math.Exp(s[2*j+1])
			}
			return bIn, bUm
		}},
	} {
		t.Run(c.options, c.unbiased)
	}
}

// pairing is a way of learning speeds: options, and what they make of scores [position][insertion, unmasking].
type pairing struct {
	options    string
	a, stretch float64
	trains     bool // speeds of unmasking, too
	speeds     func(score []float64) (bIn, bUm []float64)
}

func ones() []float64 { return []float64{1, 1, 1} }

// centred are the speeds of a string with two free tokens.
func centred(score []float64, channel int, c float64) []float64 {
	const limit = 1.5
	x, y := limit*math.Tanh(score[channel]/limit), limit*math.Tanh(score[2+channel]/limit)
	return []float64{c * math.Exp((x-y)/2), c * math.Exp((y-x)/2), 1}
}

func (p pairing) unbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	all := corruptions([][]int32{{3, 4, eos}})
	time := float64(float32(0.55))
	u, hazard := p.stretch*insertion.Clock(time, p.a), p.stretch*insertion.Hazard(time, p.a)
	score := make([]float64, 2*width)
	for i := range score {
		score[i] = float64(float32(rng.NormFloat64()))
	}

	// Any denoiser will do: it answers by what it sees.
	says := map[string]*answer{}
	for _, c := range all {
		x := key(c.contract(ones()))
		if says[x] != nil {
			continue
		}
		says[x] = &answer{}
		for i := range width {
			total := 0.0
			for _, v := range []int{eos, 3, 4} {
				says[x].k[i][v] = math.Exp(rng.NormFloat64())
				total += says[x].k[i][v]
			}
			for v := range says[x].k[i] {
				says[x].k[i][v] /= total
			}
			says[x].um[i] = float64(float32(math.Exp(rng.NormFloat64())))
		}
		for g := range says[x].in {
			says[x].in[g] = float64(float32(math.Exp(rng.NormFloat64())))
		}
	}
	loss := func(c corrupted, bIn, bUm []float64) (sum float64) {
		x := c.contract(bIn)
		a := says[key(x)]
		for g, missing := range x.Speeds {
			sum += insertion.Bregman(missing, a.in[g])
		}
		for i, id := range x.Tokens {
			if id != mask {
				continue
			}
			j := x.From[i]
			sum -= bUm[j] * math.Log(a.k[i][c.tokens[j]])
			if p.trains {
				sum += insertion.Bregman(bUm[j], a.um[i])
			}
		}
		return hazard * sum
	}

	h := try.Heads{Name: p.options, Graph: "training", Options: []byte(p.options), V: vocabulary, Mask: mask, Pad: pad, Suppressed: []int64{pad, mask},
		Rows: int64(len(all) * len(all)), Length: width, Feeds: map[string][]float64{}, Gives: map[string][]float64{}}
	add := func(to string, v ...float64) { h.Feeds[to] = append(h.Feeds[to], v...) }
	for _, first := range all {
		for _, second := range all {
			tokens, free, real := first.row()
			add("tokens", tokens...)
			add("free", free...)
			add("attention_mask", real...)
			add("time", time)
			h.Gives["order"] = append(h.Gives["order"], score...)
			for _, c := range []corrupted{first, second} {
				in, um := c.noise()
				add("q_in_pair", in...)
				add("q_um_pair", um...)
				says[key(c.contract(ones()))].gives(h.Gives)
			}
		}
	}
	if !p.trains {
		delete(h.Gives, "unmask_rate")
	}
	out := h.Open(t, h.Build(t, loflexmdm.New()), 1)()

	bIn, bUm := p.speeds(score)
	chance := make([]float64, len(all))
	for i, c := range all {
		chance[i] = math.Exp(c.logp(u, bIn, bUm))
	}
	free := float64(len(all) * len(all) * (width - 1)) // the loss is a token's
	expected := func(score []float64) (sum float64) {
		bIn, bUm := p.speeds(score)
		for _, c := range all {
			sum += math.Exp(c.logp(u, bIn, bUm)) * loss(c, bIn, bUm)
		}
		return sum
	}
	for i := range score[:2*(width-1)] {
		got := 0.0
		for r := range len(all) * len(all) {
			got += chance[r/len(all)] * chance[r%len(all)] * float64(out["grad.order"][r*len(score)+i]) * free
		}
		const step = 1e-5
		up, down := append([]float64{}, score...), append([]float64{}, score...)
		up[i] += step
		down[i] -= step
		want := (expected(up) - expected(down)) / (2 * step)
		if !(math.Abs(got-want) < 1e-5*max(1, math.Abs(want))) {
			t.Errorf("score %d: the mean gradient is %.7f, the slope of the mean %.7f", i, got, want)
		}
	}
}
