package dfm_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/goldenfile"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners/dfm"
	"github.com/mdmhost/mdmhost/planners/internal/try"
)

// at places a row in time, with uniforms.
func at(r sampling.Row, t float64, uniform []float64) sampling.Row {
	r.T, r.AlphaT, r.Uniform = t, 1-t, uniform
	return r
}

// With steps to spare the planner does what the numpy reference does, and goes on at its time.
func TestAgainstReference(t *testing.T) {
	var cases []struct {
		T            float64
		TimeSteps    int   `json:"time_steps"`
		Row          []int // 0 fixed, 1 masked, 2 written
		Uniform      []int
		Open, Remask []int32
		Next         float64
	}
	goldenfile.Read(t, "testdata/golden.json.gz", &cases)
	for n, c := range cases {
		tokens := make([]int32, len(c.Row))
		var fixed []int
		for i, kind := range c.Row {
			switch kind {
			case 0:
				fixed = append(fixed, i)
			case 1:
				tokens[i] = try.Mask
			}
		}
		p := dfm.New()
		try.Start(t, p, fmt.Sprintf(`{"time_steps":%d}`, c.TimeSteps))
		got := try.Ask(t, p, at(try.Row(tokens, 1, 1<<20, fixed...), c.T, try.Units(c.Uniform, 4096.0)))
		if diff := cmp.Diff([][]int32{c.Open, c.Remask}, [][]int32{got.Open, got.Remask}, cmpopts.EquateEmpty()); diff != "" || math.Abs(got.NextT-c.Next) > 1e-12 {
			t.Errorf("case %d: goes on at %v (reference %v) (-reference +ours):\n%s", n, got.NextT, c.Next, diff)
		}
	}
	if len(cases) < 200 {
		t.Errorf("%d cases, expected at least 200", len(cases))
	}
}

// trajectory follows the planner's times from 1 and finds its probabilities on a fine grid of uniforms.
func trajectory(t testing.TB, options string, steps int) (times []float64, coins []try.Coin) {
	const fine = 1 << 11
	p := dfm.New()
	try.Start(t, p, options)
	var uniform []float64
	for range 2 {
		for i := range fine {
			uniform = append(uniform, (float64(i)+0.5)/fine)
		}
	}
	for now := 1.0; len(times) == 0 || now > 0; {
		d := try.Ask(t, p, at(try.Row(append(try.Blank(fine), make([]int32, fine)...), len(times), steps), now, uniform))
		times, coins = append(times, now), append(coins, try.Coin{Open: float64(len(d.Open)) / fine, Remask: float64(len(d.Remask)) / fine, GoOn: d.GoOn})
		now = d.NextT
	}
	return times, coins
}

// Whatever the steps, times fall to the end within them, the mean mask fraction follows them, and the last step is a pure
// opening.
func TestMeanDrift(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps, timeSteps := rapid.IntRange(1, 150).Draw(rt, "steps"), rapid.IntRange(0, 200).Draw(rt, "time_steps")
		times, coins := trajectory(t, fmt.Sprintf(`{"time_steps":%d}`, timeSteps), steps)
		if len(times) > steps {
			rt.Fatalf("%d passes, the row has %d", len(times), steps)
		}
		for i, now := range times {
			next := 0.0
			if i+1 < len(times) {
				next = times[i+1]
			}
			mean := now*(1-coins[i].Open) + (1-now)*coins[i].Remask
			if !(next < now) || math.Abs(mean-next) > 1.0/(1<<11) {
				rt.Fatalf("step %d from %v to %v: the mean mask fraction is %v", i, now, next, mean)
			}
		}
		if end := coins[len(coins)-1]; end != (try.Coin{Open: 1}) {
			rt.Fatalf("the last step is %+v", end)
		}
	})
}

// With the exact denoiser the process approaches the joint as the steps grow.
func TestTheJoint(t *testing.T) {
	j := try.NewJoint(4, 2, 0, 5)
	far := math.Inf(1)
	for _, steps := range []int{4, 100, 400} {
		times, coins := trajectory(t, `{}`, steps)
		tv := try.Distance(j.Process(coins), j.P)
		t.Logf("%d steps: %d passes, distance %.4f from the joint", steps, len(times), tv)
		if tv > 0.5*far {
			t.Errorf("%d steps: distance %.4f from the joint, %.4f with fewer", steps, tv, far)
		}
		far = tv
	}
	if far > 0.01 {
		t.Errorf("still %.4f from the joint", far)
	}
}

// A noise schedule other than the linear one is refused: the rates are for that.
func TestOtherSchedules(t *testing.T) {
	p := dfm.New()
	try.Start(t, p, `{}`)
	r := at(try.Row(try.Blank(2), 0, 4), 0.5, []float64{0.1, 0.2})
	r.AlphaT = 0.25
	if err := p.Plan(t.Context(), &sampling.Step{Rows: []sampling.Row{r}}, make([]sampling.Decision, 1)); err == nil {
		t.Error("alpha 0.25 at time 0.5 was accepted")
	}
}

// The Euler solver against the rates of flow_matching written out for V 2 and a mask: with h the step, u = kappa'/(1-kappa)
// towards the drawn token plus div_free kappa'/(kappa (1-kappa)) [(1-kappa) mask + kappa token], none towards the own token.
func TestEuler(t *testing.T) {
	const fine = 1 << 12
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.Float64Range(0.01, 0.98).Draw(rt, "alpha_t")
		to := rapid.Float64Range(from, 0.99).Draw(rt, "alpha_s")
		free := rapid.Float64Range(0, 3).Draw(rt, "div_free")
		const mask, token, other = 2, 0, 1
		rate := func(x, x1, to int) float64 { // u(to | x, x1), h = alpha_s - alpha_t, kappa' = 1
			if to == x {
				return 0
			}
			u := 0.0
			if to == x1 {
				u += 1/(1-from) + free/(from*(1-from))*from
			}
			if to == mask {
				u += free / (from * (1 - from)) * (1 - from)
			}
			return u
		}
		jump := func(x, x1 int) float64 {
			return 1 - math.Exp(-(to-from)*(rate(x, x1, token)+rate(x, x1, other)+rate(x, x1, mask)))
		}
		row := try.Row(append(try.Blank(fine), make([]int32, fine)...), 3, 9)
		row.AlphaT, row.AlphaS, row.T, row.S = from, to, 1-from, 1-to
		for range 2 {
			for i := range fine {
				row.Uniform = append(row.Uniform, (float64(i)+0.5)/fine)
			}
		}
		p := dfm.New()
		try.Start(t, p, fmt.Sprintf(`{"solver":"euler","div_free":%v}`, free))
		d := try.Ask(t, p, row)
		if open := float64(len(d.Open)) / fine; math.Abs(open-jump(mask, token)) > 1.0/fine {
			rt.Fatalf("opens with probability %v, want %v", open, jump(mask, token))
		}
		if again := float64(len(d.Remask)) / fine; math.Abs(again-jump(token, token)) > 1.0/fine {
			rt.Fatalf("masks again with probability %v, want %v", again, jump(token, token))
		}
	})
}

// Without the divergence-free part the Euler solver approaches ancestral sampling, with it the joint all the same.
func TestEulerApproachesTheJoint(t *testing.T) {
	j := try.NewJoint(4, 2, 0, 5)
	for _, free := range []float64{0, 1} {
		far := math.Inf(1)
		for _, steps := range []int{4, 32, 256} {
			const fine = 1 << 12
			p := dfm.New()
			try.Start(t, p, fmt.Sprintf(`{"solver":"euler","div_free":%v}`, free))
			var uniform []float64
			for range 2 {
				for i := range fine {
					uniform = append(uniform, (float64(i)+0.5)/fine)
				}
			}
			var coins []try.Coin
			for i := range steps {
				row := at(try.Row(append(try.Blank(fine), make([]int32, fine)...), i, steps), 1-float64(i)/float64(steps), uniform)
				row.S = 1 - float64(i+1)/float64(steps)
				row.AlphaS = 1 - row.S
				d := try.Ask(t, p, row)
				coins = append(coins, try.Coin{Open: float64(len(d.Open)) / fine, Remask: float64(len(d.Remask)) / fine, GoOn: d.GoOn})
			}
			tv := try.Distance(j.Process(coins), j.P)
			t.Logf("div_free %v, %d steps: distance %.4f from the joint", free, steps, tv)
			if tv > 0.5*far {
				t.Errorf("div_free %v, %d steps: distance %.4f from the joint, %.4f with fewer", free, steps, tv, far)
			}
			far = tv
		}
		if far > 0.02 {
			t.Errorf("div_free %v: still %.4f from the joint", free, far)
		}
	}
}

func TestOptionsThatDoNotGoTogether(t *testing.T) {
	for _, options := range []string{`{"div_free":1}`, `{"solver":"euler","time_steps":8}`} {
		if _, err := dfm.New().Start(t.Context(), sampling.Run{Options: []byte(options), MaskID: try.Mask, V: try.Mask}); err == nil {
			t.Errorf("%s was accepted", options)
		}
	}
}
