package genmd4_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/diffusion"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/genmd4"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
)

// Loss, metrics, bounds and gradients (of both passes' logits and of the exponents) are the reference's on the same noise. The
// gradient of the exponents is not that of plain differentiation.
func TestAgainstTheReference(t *testing.T) {
	d := try.Device(t)
	for _, c := range readGolden(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			reply := c.reply(t)
			got := c.compile(t, d, reply.Training).run(t, c.Feeds)
			try.Compare(t, "training", got, c.Training)
			try.Compare(t, "eval", c.compile(t, d, reply.Eval).run(t, c.Feeds), c.Eval)
			far := 0.0
			for i, g := range got["grad.raw"] {
				far = max(far, math.Abs(float64(g)-c.Naive[i]))
			}
			if c.Name != "frozen" && far < 1e-2 {
				t.Errorf("the exponents' gradient is within %.2g of the naive one: the score term is missing", far)
			}
		})
	}
}

// batch is the toy's row under every pair of masks: 64 rows; or under every mask: 8 rows.
func (y *toy) batch(pairs bool) *goldenCase {
	c := &goldenCase{Name: "toy", V: 4, Mask: 3, Pad: -1, Suppressed: []int64{3}, Rows: 1, Length: 3, Feeds: map[string][]float64{
		"tokens": y.Tokens, "free": {1, 1, 1}, "attention_mask": {1, 1, 1}, "raw": append(slices.Clone(y.Raw), 0)}}
	if !pairs {
		c.Rows = int64(len(y.Nodes))
	}
	return c
}

// noise masks as the toy's mask says, at any time of the tests: u near 0 masks, near 1 does not.
func noise(mask []float64) (u []float64) {
	for _, m := range mask {
		u = append(u, 1-1e-6-m*(1-2e-6))
	}
	return u
}

// wide adds the mask's column to logits [N, m].
func wide(logits []float64) (z []float64) {
	for at := 0; at < len(logits); at += 3 {
		z = append(append(z, logits[at:at+3]...), 50)
	}
	return z
}

// Averaged over all 64 pairs of masks, the gradient of the exponents is that of the expected loss, in which masks are summed over:
// the leave-one-out estimate has no bias. The loss is the expected loss and no surrogate.
func TestTheGradientHasNoBias(t *testing.T) {
	y := readGolden(t).Toy
	c := y.batch(true)
	c.Options = []byte(`{"eps": 0, "t1": 1e-9}`)
	p := c.compile(t, try.Device(t), c.reply(t).Training)
	for _, at := range y.Times {
		c.Feeds["time"] = []float64{at.Time}
		gradient, value := make([]float64, 3), 0.0
		for i, a := range y.Masks {
			for j, b := range y.Masks {
				c.Feeds["a"], c.Feeds["b"] = noise(a), noise(b)
				c.Feeds["logits.a"], c.Feeds["logits.b"] = wide(y.Logits[i]), wide(y.Logits[j])
				got := p.run(t, c.Feeds)
				for k := range gradient { // the loss is per token, of three
					gradient[k] += at.Q[i] * at.Q[j] * 3 * float64(got["grad.raw"][k])
				}
				value += at.Q[i] * at.Q[j] * 3 * float64(got["loss"][0])
			}
		}
		for k, want := range at.Gradient {
			if math.Abs(gradient[k]-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("t = %v: gradient of raw %d is %.8f, enumerated %.8f", at.T, k, gradient[k], want)
			}
		}
		if math.Abs(value-at.Value[0]) > 1e-6*at.Value[0] {
			t.Errorf("t = %v: expected loss %.8f, enumerated %.8f", at.T, value, at.Value[0])
		}
	}
}

// The evaluation, integrated over time with all masks enumerated, is the reference's exact bound: within 2e-5 nats, what is left
// of t1 1e-9. Equal exponents give the bound of MD4, whatever the exponent.
func TestTheBound(t *testing.T) {
	y := readGolden(t).Toy
	c := y.batch(false)
	c.Options = []byte(`{"eps": 0, "t1": 1e-9}`)
	p := c.compile(t, try.Device(t), c.reply(t).Eval)
	repeat := func(v []float64) []float64 { return slices.Repeat(v, len(y.Nodes)) }
	for _, name := range []string{"tokens", "free", "attention_mask"} {
		c.Feeds[name] = repeat(c.Feeds[name])
	}
	c.Feeds["time"], c.Feeds["time2"] = y.Nodes, y.Nodes
	equal := math.Log(math.Expm1(1.7))
	for _, against := range []struct {
		name string
		raw  []float64
		want float64
	}{{"unequal exponents", c.Feeds["raw"], y.Exact}, {"equal exponents", []float64{equal, equal, equal, equal}, y.Polynomial}} {
		c.Feeds["raw"] = against.raw
		total := 0.0
		for i, mask := range y.Masks {
			c.Feeds["a"], c.Feeds["logits.a"] = repeat(make([]float64, 3)), repeat(wide(y.Logits[i]))
			// Nodes near 0 and 1 leave no margin for the noise: it is set by each node's own chance of a mask.
			for r, node := range y.Nodes {
				for k, token := range y.Tokens {
					u := y.chance(node, against.raw[int(token)])
					c.Feeds["a"][3*r+k] = u * (1 - 0.5*mask[k])
					if mask[k] == 0 {
						c.Feeds["a"][3*r+k] = (1 + u) / 2
					}
				}
			}
			got := p.run(t, c.Feeds)["bound"]
			for r, node := range y.Nodes {
				q := y.Weights[r]
				for k, token := range y.Tokens {
					u := y.chance(node, against.raw[int(token)])
					if mask[k] == 1 {
						q *= u
					} else {
						q *= 1 - u
					}
				}
				total += q * float64(got[r])
			}
		}
		if math.Abs(total-against.want) > 2e-5 {
			t.Errorf("%s: bound %.6f nats, exact %.6f", against.name, total, against.want)
		}
	}
}

// chance is u of a token at a fed time.
func (y *toy) chance(time, raw float64) float64 {
	return math.Pow(y.T1+(1-y.T1)*time, math.Log1p(math.Exp(raw)))
}

// With all exponents 1 the reconstruction is (1-eps) t1 N log m.
func TestReconstructionOfTheStart(t *testing.T) {
	c := readGolden(t).Cases[0]
	got := c.compile(t, try.Device(t), c.reply(t).Eval).run(t, c.Feeds)
	for r, n := range got["count"] {
		want := (1 - 1e-4) * 1e-3 * float64(n) * math.Log(6)
		if have := float64(got["metric.recon.sum"][r]); math.Abs(have-want) > 1e-6*want {
			t.Errorf("row %d of %v tokens: %.9f nats, want %.9f", r, n, have, want)
		}
	}
}

func TestWhatItSays(t *testing.T) {
	c := readGolden(t).Cases[0]
	reply := c.reply(t)
	want := spec.Param{Name: "raw", Shape: []int64{8}, Init: spec.Init{Value: math.Log(math.E - 1)}}
	if len(reply.Spec.Params) != 1 || reply.Spec.Params[0].Name != want.Name || reply.Spec.Params[0].Init != want.Init || !slices.Equal(reply.Spec.Params[0].Shape, want.Shape) {
		t.Errorf("parameters %+v", reply.Spec.Params)
	}
	if reply.Schedule != (diffusion.Spec{Kind: "per_token", Eps: 1e-4}) || reply.Spec.Bound != spec.Bound || !slices.Equal(reply.Spec.Groups, []spec.Group{{Match: "raw", LR: 1}}) {
		t.Errorf("schedule %+v, bound %s, groups %+v", reply.Schedule, reply.Spec.Bound, reply.Spec.Groups)
	}
	c.Options = []byte(`{"frozen": true, "exponents_lr": 3, "exponents_decay": 1}`)
	if frozen := c.reply(t); !slices.Equal(frozen.Spec.Groups, []spec.Group{{Match: "raw"}}) {
		t.Errorf("frozen: groups %+v", frozen.Spec.Groups)
	}
}

func TestRefusals(t *testing.T) {
	task := spec.Task{V: 8, MaskID: 7, PadID: -1, Suppressed: []int64{7}, Denoiser: try.Denoiser(8, false), Opset: 20}
	for options, want := range map[string]string{
		`{}`:                               "the network is not told the time",
		`{"eps": 0.5, "timeless": true}`:   "option eps: is 0.5; expected less than 0.5",
		`{"t1": 0, "timeless": true}`:      "t1",
		`{"times": "all", "frozen": true}`: "times",
	} {
		task.Options = []byte(options)
		if _, err := genmd4.New().Build(t.Context(), task); err == nil || !strings.HasPrefix(err.Error(), "trainer genmd4: INVALID_CONFIG: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
	task.Options = []byte(`{"timeless": true}`)
	if _, err := genmd4.New().Build(t.Context(), task); err != nil {
		t.Error(err)
	}
}
