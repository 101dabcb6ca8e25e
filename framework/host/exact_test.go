package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/eb"
)

// joint is an explicit distribution; testdata/joints.sh made it, with an ONNX model that is its exact denoiser.
type joint struct {
	Length int
	Vocab  int
	P      map[string]float64
}

func readJoint(t *testing.T, name string) joint {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + "/joint.json")
	if err != nil {
		t.Fatal(err)
	}
	var j joint
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// posterior returns P(x_l = v | the visible symbols of x), '?' being a mask.
func (j joint) posterior(x []byte, l int) []float64 {
	p, sum := make([]float64, j.Vocab), 0.0
	for s, q := range j.P {
		fits := true
		for i, c := range x {
			fits = fits && (i == l || c == '?' || c == s[i])
		}
		if fits {
			p[s[l]-'a'] += q
			sum += q
		}
	}
	for v := range p {
		p[v] /= sum
	}
	return p
}

// open opens a host on a model of testdata, with settings as on the command line.
func open(t *testing.T, inProcess bool, settings ...string) *host.Host {
	t.Helper()
	var flags []config.Assignment
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set"})
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), cfg, host.Options{InProcess: inProcess})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// fill samples n rows that are all blank and returns how often each text came, and the mean NFE.
func fill(t *testing.T, h *host.Host, n int) (map[string]int, float64) {
	t.Helper()
	return fillAt(t, h, n, 1)
}

// fillAt is fill at a top_p.
func fillAt(t *testing.T, h *host.Host, n int, topP float32) (map[string]int, float64) {
	t.Helper()
	row, err := h.Model().EncodePrompt("", 0)
	if err != nil {
		t.Fatal(err)
	}
	next, count := 0, map[string]int{}
	a, err := h.Sample(context.Background(), n, func() (sampling.Request, bool) {
		next++
		return sampling.Request{Index: int64(next - 1), Tokens: row.Tokens, Fixed: row.Fixed, Params: sampling.Params{Temperature: 1, TopP: topP}}, next <= n
	}, func(r sampling.Result) error {
		count[h.Model().Tokenizer.Decode(r.Tokens, true)]++
		return r.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count, float64(a.RowPasses) / float64(n)
}

// distance checks the total variation between n draws and p. Its mean is at most m = sum_i sqrt(p_i (1-p_i) / n) / 2 and
// McDiarmid bounds the excess: P(TV > m + e) <= exp(-2 n e^2), with e = sqrt(ln(1e7) / 2n) below 1e-7.
func distance(t *testing.T, count map[string]int, p map[string]float64, n int) {
	t.Helper()
	tv, mean := 0.0, 0.0
	for s, q := range p {
		tv += math.Abs(float64(count[s])/float64(n)-q) / 2
		mean += math.Sqrt(q*(1-q)/float64(n)) / 2
	}
	bound := mean + math.Sqrt(math.Log(1e7)/float64(2*n))
	t.Logf("total variation %.4f, sampling noise at most %.4f, bound %.4f", tv, mean, bound)
	if tv > bound {
		t.Errorf("total variation %.4f beyond %.4f", tv, bound)
	}
}

// Any order that does not look at the drawn values reproduces the joint, through the real runtime, planner and sampler.
func TestExactDenoiserGivesTheJoint(t *testing.T) {
	const n = 8000
	for _, model := range []string{"joint-l4v3", "joint-l6v2"} {
		for _, planner := range []string{"random", "sequential"} {
			t.Run(model+"/"+planner, func(t *testing.T) {
				j := readJoint(t, model)
				h := open(t, false, "model=testdata/"+model, "planner="+planner, "seed=90210", "batch=64")
				count, nfe := fill(t, h, n)
				if nfe != float64(j.Length) {
					t.Errorf("NFE %.2f a row, want %d", nfe, j.Length)
				}
				distance(t, count, j.P, n)
			})
		}
	}
}

// The law of EB is computed exactly by running its planner along every sequence of the joint; its KL from the joint must
// stay below the expected sum of its bounds, and that below gamma for each step with several tokens (EB-Sampler,
// section 3.5). The sampler then draws from that law.
func TestEBObeysItsBound(t *testing.T) {
	const n = 8000
	for _, c := range []struct {
		model string
		gamma float64
	}{{"joint-l4v3", 0.1}, {"joint-l4v3", 0.6}, {"joint-l6v2", 0.3}, {"joint-coupled", 0}, {"joint-coupled", 0.4}} {
		t.Run(fmt.Sprintf("%s/gamma %v", c.model, c.gamma), func(t *testing.T) {
			j := readJoint(t, c.model)
			law, kl, bound, several, steps := j.alongEB(t, c.gamma)
			t.Logf("KL %.5f, expected bound %.5f, gamma times steps with several tokens %.5f, NFE %.2f", kl, bound, c.gamma*several, steps)
			if kl < -1e-9 || kl > bound+1e-9 || bound > c.gamma*several+1e-9 {
				t.Errorf("KL %.6f <= bound %.6f <= gamma x steps %.6f does not hold", kl, bound, c.gamma*several)
			}
			h := open(t, false, "model=testdata/"+c.model, "planner=eb", fmt.Sprintf("planner.gamma=%v", c.gamma), "seed=777", "batch=64")
			count, nfe := fill(t, h, n)
			distance(t, count, law, n)
			if math.Abs(nfe-steps) > 6*float64(j.Length)/math.Sqrt(n) { // a row's NFE lies in [1, L]: six standard errors at most
				t.Errorf("NFE %.3f a row, the law says %.3f", nfe, steps)
			}
		})
	}
}

// alongEB returns the law of EB at temperature 1, its KL, the expectations of its summed bounds, of steps that opened
// several tokens, and of steps.
func (j joint) alongEB(t *testing.T, gamma float64) (law map[string]float64, kl, bound, several, steps float64) {
	t.Helper()
	planner := eb.New()
	if _, err := planner.Start(t.Context(), sampling.Run{Options: fmt.Appendf(nil, `{"gamma": %v}`, gamma)}); err != nil {
		t.Fatal(err)
	}
	law = map[string]float64{}
	for s, q := range j.P {
		x, p := []byte(strings.Repeat("?", j.Length)), 1.0
		for n := 0; slices.Contains(x, '?'); n++ {
			row := sampling.Row{Step: n, Steps: j.Length, Blanks: j.Length}
			post := make([][]float64, j.Length)
			for l := range x {
				post[l] = j.posterior(x, l)
				f, h := sampling.Flags(0), 0.0
				if x[l] == '?' {
					f = sampling.Masked | sampling.Eligible
				}
				for _, v := range post[l] {
					if v > 0 {
						h -= v * math.Log(v)
					}
				}
				row.Flags, row.Token, row.Proposal = append(row.Flags, f), append(row.Token, 0), append(row.Proposal, 0)
				row.Entropy = append(row.Entropy, float32(h))
			}
			d := make([]sampling.Decision, 1)
			if err := planner.Plan(t.Context(), &sampling.Step{Rows: []sampling.Row{row}}, d); err != nil {
				t.Fatal(err)
			}
			sum, most := 0.0, 0.0
			for _, l := range d[0].Open {
				p *= post[l][s[l]-'a']
				sum += float64(row.Entropy[l])
				most = max(most, float64(row.Entropy[l]))
			}
			for _, l := range d[0].Open {
				x[l] = s[l]
			}
			bound += q * (sum - most)
			if len(d[0].Open) > 1 {
				several += q
			}
			steps += q
		}
		law[s] = p
		kl += q * math.Log(q/p)
	}
	return law, kl, bound, several, steps
}
