package loflexmdm_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/flexmdm"
	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
)

const golden = "testdata/golden.json.gz"

// TestAgainstTheReference runs both graphs on fixed noise: contracted rows, losses, metrics, the regulariser's parts, and
// gradients by differences, those for the order network's scores too.
func TestAgainstTheReference(t *testing.T) {
	try.Agree(t, golden, loflexmdm.New)
}

// TestFlexMDMIsTheSpecialCase: with equal speeds of 1 the bound is FlexMDM's, on the same noise.
func TestFlexMDMIsTheSpecialCase(t *testing.T) {
	for _, flex := range try.Goldens(t, "../flexmdm/"+golden) {
		if flex.Graph != "eval" || string(flex.Options) == "" {
			continue
		}
		t.Run(flex.Name, func(t *testing.T) {
			lo := flex
			lo.Options = []byte(strings.Replace(string(flex.Options), "{", `{"c": 1,`, 1))
			if string(flex.Options) == "{}" {
				lo.Options = []byte(`{"c": 1}`)
			}
			lo.Gives = maps.Clone(flex.Gives)
			lo.Gives["order"] = make([]float64, flex.Rows*flex.Length*2)
			got, want := lo.Open(t, lo.Build(t, loflexmdm.New()), 1)(), flex.Open(t, flex.Build(t, flexmdm.New()), 1)()
			for name := range got {
				if strings.HasPrefix(name, "metric.b_in") {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEveryRunIsTheSame: two threads, again and again, give the bits of one thread. Sums over gaps and their slopes are scatters,
// which must not race; the batch is large enough for the runtime to share it out.
func TestEveryRunIsTheSame(t *testing.T) {
	h := large()
	file := h.Build(t, loflexmdm.New())
	want := h.Open(t, file, 1)()
	run := h.Open(t, file, 2)
	for range 10 {
		if got := run(); !cmp.Equal(want, got) {
			t.Fatal(cmp.Diff(want, got))
		}
	}
}

// TestExtremeScores: whatever the networks say, loss and gradients are numbers.
func TestExtremeScores(t *testing.T) {
	for _, h := range try.Goldens(t, golden) {
		if h.Graph != "training" {
			continue
		}
		run := h.Open(t, h.Build(t, loflexmdm.New()), 1)
		for _, size := range []float64{100, -100, 1e4} {
			for _, name := range []string{"order", "insertion_rate", "unmask_rate"} {
				was := h.Gives[name]
				h.Gives[name] = slices.Clone(was)
				for i := range h.Gives[name] {
					if h.Gives[name][i] *= size; name != "order" {
						h.Gives[name][i] = max(h.Gives[name][i], 0) // rates are not below 0, but may be 0
					}
				}
				for output, numbers := range run() {
					for i, x := range numbers {
						if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
							t.Fatalf("%s, %s times %v: %s[%d] is %v", h.Name, name, size, output, i, x)
						}
					}
				}
				h.Gives[name] = was
			}
		}
	}
}

// TestNetworks holds what the order network is, apart and on the denoiser's layers.
func TestNetworks(t *testing.T) {
	task := try.Goldens(t, golden)[0].Task()
	for options, want := range map[string]struct{ summary, share, inputs string }{
		`{}`:               {"LoFlexMDM, a 1, speeds centred, b_um frozen, separate order network, normalise sum", "", "input_ids attention_mask"},
		`{"shared": true}`: {"LoFlexMDM, a 1, speeds centred, b_um frozen, shared order network, normalise sum", "denoiser", "input_ids attention_mask timesteps"},
	} {
		task.Options = []byte(options)
		reply, err := loflexmdm.New().Build(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		n := reply.Spec.Networks[1]
		var inputs []string
		for _, p := range n.Signature.Inputs {
			inputs = append(inputs, p.Name)
		}
		if reply.Summary != want.summary || n.Name != loflexmdm.Order || n.Init != spec.Fresh || n.Frozen || n.ShareWith != want.share || strings.Join(inputs, " ") != want.inputs {
			t.Errorf("%s: %q, %+v", options, reply.Summary, n)
		}
		if out := n.Signature.Outputs; len(out) != 1 || out[0].Name != "order" || !graph.SameShape(out[0].Shape, graph.Dims("B", "L", 2)) {
			t.Errorf("%s: outputs %v", options, out)
		}
		groups := []spec.Group{{Match: "order.*", LR: 0.3, Decay: 1}}
		if diff := cmp.Diff(groups, reply.Spec.Groups); diff != "" || reply.Spec.Bound != spec.PathBound || reply.Schedule.Kind != "kumaraswamy" || reply.Schedule.A != 1 {
			t.Errorf("%s: groups %s, bound %s, schedule %+v", options, diff, reply.Spec.Bound, reply.Schedule)
		}
	}
}

func TestRefusals(t *testing.T) {
	task := try.Goldens(t, golden)[0].Task()
	for options, want := range map[string]string{
		`{"b_um": "trainable"}`:               `option b_um: network "denoiser" gives no unmask_rate, which learned speeds of unmasking need; add --set network.unmask_rate=true, or leave b_um frozen`,
		`{"speeds": "softplus", "r_max": 1}`:  "option r_max: 1 is not above r_min 1.01; expected a larger scale",
		`{"speeds": "centered"}`:              "option speeds: expected one of centred, softplus, exp",
		`{"eps": 0.2}`:                        "option eps: ",
		`{"speeds": "exp", "mixture": -1}`:    "option mixture: ",
		`{"speeds": "centred", "limit": 100}`: "option limit: ",
	} {
		task.Options = []byte(options)
		if _, err := loflexmdm.New().Build(t.Context(), task); err == nil || !strings.HasPrefix(err.Error(), "trainer loflexmdm: INVALID_CONFIG: "+want) {
			t.Errorf("%s:\n%v\nwant\n%s...", options, err, want)
		}
	}
	task.Options, task.Denoiser = nil, try.Denoiser(task.V, true)
	if _, err := loflexmdm.New().Build(t.Context(), task); err == nil || !strings.Contains(err.Error(), "add --set network.gaps=eos") {
		t.Errorf("a masked model: %v", err)
	}
}

// large is a training step of 32 rows of 48 tokens, twice each.
func large() *try.Heads {
	const rows, length, v = 32, 48, 32
	h := &try.Heads{Name: "large", Graph: "training", Options: []byte(`{}`), V: v, Mask: 1, Pad: 0, Suppressed: []int64{0, 1}, Rows: rows, Length: length,
		Feeds: map[string][]float64{}, Gives: map[string][]float64{}}
	fill := func(n int, f func(i int) float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = f(i)
		}
		return out
	}
	noise := func(i int) float64 { return (float64(i*7919%8388608) + 0.5) / 8388608 }
	n := rows * length
	h.Feeds["tokens"] = fill(n, func(i int) float64 { return float64(2 + i%30) })
	h.Feeds["attention_mask"] = fill(n, func(int) float64 { return 1 })
	h.Feeds["free"] = fill(n, func(i int) float64 { return float64(i % 2) })
	h.Feeds["time"] = fill(rows, func(i int) float64 { return (float64(i) + 0.5) / rows })
	h.Feeds["q_in_pair"], h.Feeds["q_um_pair"] = fill(2*n, noise), fill(2*n, func(i int) float64 { return noise(3*i + 1) })
	h.Gives["logits"] = fill(2*n*v, noise)
	h.Gives["insertion_rate"] = fill(2*rows*(length+1), noise)
	h.Gives["order"] = fill(2*n, noise)
	return h
}

// BenchmarkCorruption is a whole step without its networks.
func BenchmarkCorruption(b *testing.B) {
	h := large()
	run := h.Open(b, h.Build(b, loflexmdm.New()), 1)
	b.ResetTimer()
	for range b.N {
		run()
	}
}
