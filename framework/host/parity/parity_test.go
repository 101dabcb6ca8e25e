package parity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/results"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func settings(t *testing.T, given ...string) *config.Config {
	t.Helper()
	var flags []config.Assignment
	for _, g := range given {
		key, value, _ := strings.Cut(g, "=")
		flags = append(flags, config.Assignment{Key: key, Value: value, Flag: "--set " + key})
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// compareOf runs a comparison of the base with others; watch stands between each host and its runtime.
func compareOf(t *testing.T, base *config.Config, watch func(contestant int, d backend.Denoiser) backend.Denoiser, others ...string) *Report {
	t.Helper()
	all := []Contestant{{Name: "first", Config: base}}
	for _, text := range others {
		c, err := Expand(base, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	n := -1
	r, err := Run(t.Context(), all, Options{Rounds: 1, Said: func(string) {},
		Host: host.Options{InProcess: true, Watch: func(d backend.Denoiser) backend.Denoiser {
			if n++; watch == nil {
				return d
			}
			return watch(n, d)
		}},
		Rows: func(h *host.Host) ([]sampling.Request, error) {
			rows, _, err := results.Requests(h.Model(), h.Config(), nil)
			return rows, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The statistics of three heads give the same tokens in every row; a graph that is not optimised rounds otherwise, and where that tells, it
// is a near-tie: all positions of a row of masks are alike to this model.
func TestRuntimesAgree(t *testing.T) {
	r := compareOf(t, settings(t, "model=text", "num=4", "batch=4", "length=24", "seed=3"), nil, "onnx:head=graph", "onnx:head=go", "onnx:optimize=off,threads=1")
	if r.Differ() != 0 || len(r.Contestants) != 4 {
		t.Fatalf("%s", r)
	}
	for _, c := range r.Contestants {
		if c.Tokens != 96 || c.EqualRows+len(c.NearTies) != 4 || c.DenoiseMS <= 0 || c.MS < c.DenoiseMS || c.Passes != 24 || c.BytesPerStep != 0 {
			t.Errorf("%+v", c)
		}
		for _, p := range c.NearTies {
			if p.Margin == nil || *p.Margin >= MarginCPU || p.Position < 0 || p.Follows == 0 {
				t.Errorf("%s: %+v", c.Name, p)
			}
		}
	}
	if r.Contestants[0].EqualRows != 4 || r.Contestants[0].OverheadMS != 0 {
		t.Errorf("the first against itself: %+v", r.Contestants[0])
	}
}

// liar is a runtime that answers otherwise in one step of one row.
type liar struct {
	backend.Denoiser
	batch *sampling.Batch
	lie   func(b *sampling.Batch, s *sampling.Statistics, lo, hi int)
}

func (l *liar) Batch(b, n int) (*sampling.Batch, error) {
	batch, err := l.Denoiser.Batch(b, n)
	l.batch = batch
	return batch, err
}

func (l *liar) Run(ctx context.Context) (*sampling.Statistics, error) {
	s, err := l.Denoiser.Run(ctx)
	for i := range l.batch.B {
		if err == nil && l.batch.Index[i] == 1 && l.batch.Step[i] == 2 {
			l.lie(l.batch, s, i*s.L, (i+1)*s.L)
		}
	}
	return s, err
}

// A runtime that draws another token, or gives other statistics, is found out, in the row and the step where it did.
func TestLiesAreDifferences(t *testing.T) {
	masked := func(b *sampling.Batch, s *sampling.Statistics, lo, hi int) int { // the surest position
		best := lo + slices.Index(b.Active[lo:hi], 1)
		for i := lo; i < hi; i++ {
			if b.Active[i] == 1 && s.P1[i] > s.P1[best] {
				best = i
			}
		}
		return best
	}
	for name, c := range map[string]struct {
		lie  func(b *sampling.Batch, s *sampling.Statistics, lo, hi int)
		want string
	}{
		"token": {func(b *sampling.Batch, s *sampling.Statistics, lo, hi int) {
			at := masked(b, s, lo, hi)
			s.Proposal[at] = map[bool]int32{true: 21, false: 20}[s.Proposal[at] == 20]
		}, ""},
		"statistics": {func(b *sampling.Batch, s *sampling.Statistics, lo, hi int) { s.P1[masked(b, s, lo, hi)] = 0.001 }, "margin"},
		"nan": {func(b *sampling.Batch, s *sampling.Statistics, lo, hi int) {
			s.Proposal[masked(b, s, lo, hi)] = 0
			s.P1[lo] = float32(math.Inf(1))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareOf(t, settings(t, "model=text", "num=3", "batch=3", "length=16", "seed=3", "planner=confidence"), func(n int, d backend.Denoiser) backend.Denoiser {
				if n != 1 {
					return d
				}
				return &rowed{&liar{Denoiser: d, lie: c.lie}}
			}, "onnx:head=graph")
			liar := r.Contestants[1]
			if r.Differ() != 1 || len(liar.Differences) != 1 || liar.EqualRows != 2 {
				t.Fatalf("%s", r)
			}
			if p := liar.Differences[0]; p.Row != 1 || p.Step != 2 || p.Follows == 0 || (p.Margin == nil) == (p.Why == "") {
				t.Errorf("%+v", p)
			}
			if !strings.Contains(r.String(), "different onnx:head=graph: row 1, step 3, position ") || !strings.Contains(r.String(), c.want) {
				t.Errorf("%s", r)
			}
		})
	}
}

// rowed gives batches the slices that say which rows they hold, as the witness does for those behind it.
type rowed struct{ *liar }

func (r *rowed) Batch(b, n int) (*sampling.Batch, error) {
	batch, err := r.liar.Batch(b, n)
	if err == nil && batch.Index == nil {
		batch.Index, batch.Step = make([]int64, b), make([]int32, b)
	}
	return batch, err
}

// The margin of a draw is the way of the uniform number to the nearer end of the token's interval.
func TestMarginOfDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(2, 12).Draw(t, "tokens")
		weights, sum := make([]float64, v), 0.0
		p := position{logits: make([]float32, v), params: sampling.Params{Temperature: 1, TopP: 1}}
		for i := range weights {
			weights[i] = rapid.Float64Range(0.01, 1).Draw(t, "weight")
			p.logits[i] = float32(math.Log(weights[i]))
			sum += weights[i]
		}
		p.uniform = rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "uniform")
		a, err := p.draw(p.uniform)
		if err != nil {
			t.Fatal(err)
		}
		b := int32(rapid.IntRange(0, v-1).Filter(func(i int) bool { return int32(i) != a }).Draw(t, "other"))
		lo := 0.0
		for i := range b {
			lo += weights[i] / sum
		}
		want := max(lo-p.uniform, p.uniform-lo-weights[b]/sum)
		got, err := p.margin(a, b)
		if err != nil || math.Abs(got-want) > 1e-6 {
			t.Fatalf("margin %g, expected %g, %v", got, want, err)
		}
		p.params.Temperature = 0
		if got, err := p.margin(a, b); err != nil || math.Abs(got-math.Abs(weights[a]-weights[b])/sum) > 1e-6 {
			t.Fatalf("at temperature 0: %g, %v", got, err)
		}
	})
}

func TestMarginOfWhatCannotBe(t *testing.T) {
	p := position{logits: []float32{0, 1, 2}, head: sampling.Head{Suppress: []int32{1}}, params: sampling.Params{Temperature: 1, TopP: 1}, uniform: 0.5}
	for _, temperature := range []float32{0, 1} {
		p.params.Temperature = temperature
		if got, err := p.margin(2, 1); err != nil || !math.IsInf(got, 1) {
			t.Errorf("temperature %g: a suppressed token has margin %g, %v", temperature, got, err)
		}
	}
}

func TestExpand(t *testing.T) {
	base := settings(t, "runtime.threads=1", "seed=1")
	c, err := Expand(base, `openinference:endpoints=["grpc://a:1","http://b:2"],timeout=5,runtime.model=x`)
	if err == nil {
		t.Error("threads go with onnx alone, and are a flag here")
	}
	base = settings(t, "seed=1")
	if c, err = Expand(base, `openinference:endpoints=["grpc://a:1","http://b:2"],timeout=5,runtime.model=x`); err != nil {
		t.Fatal(err)
	}
	if r := c.Config.Runtime; !slices.Equal(r.Endpoints, []string{"grpc://a:1", "http://b:2"}) || r.Timeout != 5 || r.Model != "x" || r.Kind != "openinference" {
		t.Errorf("%+v", r)
	}
	if c, err = Expand(base, "cuda"); err != nil || c.Config.Runtime.Provider != "cuda" || c.Config.Runtime.Kind != "onnx" {
		t.Errorf("%+v, %v", c.Config, err)
	}
	for text, want := range map[string]string{
		"cdua": "expected a runtime (", "eb": "sets planner.name, expected settings of the section runtime alone", "onnx:graph": "expected NAME:key=value,...",
		"onnx:": "expected NAME:key=value,...", "onnx:haed=go": "did you mean runtime.head?", "replay": "needs runtime.recording",
	} {
		if _, err := Expand(base, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: expected %q, found %v", text, want, err)
		}
	}
	all, out := Others(base)
	if len(all) < 3 || len(out) < 2 {
		t.Errorf("%v, %v", all, out)
	}
	for _, l := range out {
		if l.Why == "" {
			t.Errorf("%s is left out without a reason", l.Name)
		}
	}
}

// A contestant that cannot run ends the comparison, unless it was only tried.
func TestContestantsThatCannotRun(t *testing.T) {
	base := settings(t, "model=sudoku", "num=1", "batch=1", "seed=1")
	bad, err := Expand(base, "onnx:library=/nowhere/libonnxruntime.so")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Rounds: 1, Said: func(string) {}, Host: host.Options{InProcess: true}, Rows: func(h *host.Host) ([]sampling.Request, error) {
		rows, _, err := results.Requests(h.Model(), h.Config(), nil)
		return rows, err
	}}
	all := []Contestant{{"first", base}, bad}
	if _, err := Run(t.Context(), all, o); err == nil || !strings.Contains(err.Error(), "runtime onnx:library=/nowhere/libonnxruntime.so: ") {
		t.Errorf("%v", err)
	}
	o.Optional = true
	r, err := Run(t.Context(), all, o)
	if err != nil || len(r.LeftOut) != 1 || len(r.Contestants) != 1 || !strings.Contains(fmt.Sprint(r), "left out  onnx:library=") {
		t.Errorf("%v, %v", r, err)
	}
}

func FuzzExpand(f *testing.F) {
	base, err := config.Load(config.Sources{})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"onnx", "onnx:head=go", "cuda:device=[0,1]", `openinference:endpoints=["grpc://a:1"],headers.x=y`, ":", "a:b=", "onnx:=,="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, '/') {
			t.Skip("no files")
		}
		if c, err := Expand(base, text); err == nil && (c.Name != text || c.Config == nil) {
			t.Errorf("%q became %+v", text, c)
		}
	})
}

// TestMarginOfChoices: a column that says nothing of two positions excuses nothing.
func TestMarginOfChoices(t *testing.T) {
	see := func(p1, current []float32) []sight {
		return []sight{{tokens: []int64{9, 9, 9}, active: []uint8{1, 1, 1}, proposal: []int32{1, 2, 3}, statistics: [][]float32{p1, current}}}
	}
	blank, sure := []float32{0, 0, 0}, []float32{1, 1, 1}
	for name, c := range map[string]struct {
		a, b         []sight
		onlyA, onlyB []int32
		least, most  float64
	}{
		"one that is 0 at masks":     {see([]float32{0.9, 0.2, 0.1}, blank), see([]float32{0.5, 0.2, 0.9}, blank), []int32{0}, []int32{2}, 0.7, 0.9},
		"one that is saturated":      {see([]float32{0.9, 0.2, 0.1}, sure), see([]float32{0.5, 0.2, 0.9}, []float32{1, 1, 0.9999999}), []int32{0}, []int32{2}, 0.7, 0.9},
		"a near-tie":                 {see([]float32{0.5, 0.2, 0.4999999}, blank), see([]float32{0.4999999, 0.2, 0.5}, blank), []int32{0}, []int32{2}, 1e-8, 1e-6},
		"beside one that is off":     {see([]float32{0.5, 0.2, 0.4999999}, blank), see([]float32{0.4999999, 0.3, 0.5}, blank), []int32{0}, []int32{2}, 1e-8, 1e-6},
		"no ranking, and one is off": {see([]float32{0.5, 0.2, 0.4}, blank), see([]float32{0.5, 0.3, 0.4}, blank), []int32{2}, nil, 0.05, 0.2},
		"large numbers, rounded":     {see([]float32{-100, 0, -100.00001}, blank), see([]float32{-100.00002, 0, -100}, blank), []int32{0}, []int32{2}, 1e-8, 1e-6},
	} {
		if margin := choice(c.a, c.b, c.onlyA, c.onlyB); margin < c.least || margin > c.most {
			t.Errorf("%s: margin %g, expected %g to %g", name, margin, c.least, c.most)
		}
	}
}
