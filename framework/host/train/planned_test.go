package train_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/evaluate"
	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// flags are settings as flags give them: those of a planner of a bound.
func flags(t *testing.T, settings ...string) *config.Config {
	t.Helper()
	cfg, err := load(settings...)
	must(t, err)
	return cfg
}

func measure(t *testing.T, p train.PlannedOptions, settings ...string) (*evaluate.PlannedReport, error) {
	t.Helper()
	p.Draws = max(1, p.Draws)
	return train.Planned(context.Background(), flags(t, settings...), host.Options{}, p, train.Streams{Err: os.Stderr})
}

// TestPlannedBoundsOfExactPosteriors: without a planner that reads proposals, both bounds are -log p, given positions or not.
func TestPlannedBoundsOfExactPosteriors(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	rows := j.rows()[:20]
	free, given, mean, conditional := []string{}, []string{}, 0.0, 0.0
	for _, x := range rows {
		free, given = append(free, x), append(given, x+",."+x[1:2]+"..")
		mean -= math.Log(j.P[x]) / float64(len(rows))
		conditional -= math.Log(j.P[x]/j.given("."+x[1:2]+"..")) / float64(len(rows))
	}
	for bound, planner := range map[string]string{"p2": "ancestral", "pelbo": "uniform"} {
		for _, c := range []struct {
			settings []string
			want     float64
		}{{j.lines(t, "text", free), mean}, {j.lines(t, "text,given", given, "data.fixed_column=given", "data.blank=."), conditional}} {
			r, err := measure(t, train.PlannedOptions{Bound: bound, Exact: true}, append(c.settings, "planner.name="+planner)...)
			must(t, err)
			if math.Abs(r.Bound.NatsPerRow.Value-c.want) > 1e-5 || r.Bound.Kind != "bound" || r.Draws != 0 || r.Bound.Rows != len(rows) {
				t.Errorf("%s: %+v, want %v nats", bound, r.Bound, c.want)
			}
		}
	}
}

// TestPlannedEstimates: draws have what enumeration says as their mean, every part of it, whatever the planner; parts add up to the
// bound. 5.5 standard errors over rows of one text each: a false alarm in a million.
func TestPlannedEstimates(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	own := "planner.network=" + j.dir
	for name, settings := range map[string][]string{
		"p2/self": nil, "p2/keep": nil, "p2/network": {own}, "p2/network ": {own, "planner.mask_score=network", "planner.per_position=true"},
		"pelbo/greedy": nil, "pelbo/uniform": nil, "pelbo/soft_greedy": {"planner.tau=0.5"}, "pelbo/p2_topk": {"planner.eta=1.5"},
	} {
		bound, planner, _ := strings.Cut(name, "/")
		settings = append(j.lines(t, "text", strings.Split(strings.Repeat("abca ", 300)+"abca", " ")), append(settings, "planner.name="+strings.TrimSpace(planner))...)
		estimate, err := measure(t, train.PlannedOptions{Bound: bound, Draws: 2}, append(settings, "seed=3")...)
		must(t, err)
		exact, err := measure(t, train.PlannedOptions{Bound: bound, Exact: true}, append(settings, "train.eval_rows=1")...)
		must(t, err)
		within := func(what string, got evaluate.Measure, want float64) {
			if !(math.Abs(got.Value-want) <= 5.5*got.Error+1e-6) {
				t.Errorf("%s: %s %v, want %v", name, what, got, want)
			}
		}
		within("bound", estimate.Bound.NatsPerRow, exact.Bound.NatsPerRow.Value)
		sum := 0.0
		for k, p := range estimate.Parts {
			within(p.Name, p.NatsPerRow, exact.Parts[k].NatsPerRow.Value)
			if k == 0 || p.Kind == "term" {
				sum += p.NatsPerRow.Value
			}
		}
		if math.Abs(sum-estimate.Bound.NatsPerRow.Value) > 1e-9*sum {
			t.Errorf("%s: the parts add up to %v, the bound is %v", name, sum, estimate.Bound.NatsPerRow)
		}
		if (estimate.Bound.Kind == "bound") != (planner == "uniform") {
			t.Errorf("%s: kind %s", name, estimate.Bound.Kind)
		}
		if estimate.Forwards == 0 || estimate.Bound.NatsPerRow.Value <= 0 {
			t.Errorf("%s: %+v", name, estimate)
		}
	}
}

// TestSamplersFollowTheirLaws: what `mdmhost sample` writes with the settings that stand for a planner of P-ELBO has the distribution
// that enumeration says, by the total variation of 20,000 rows; chance exceeds the threshold with a probability below 1e-9 (McDiarmid's
// inequality around the mean, at most half the sum of the cells' standard deviations).
func TestSamplersFollowTheirLaws(t *testing.T) {
	const n = 20000
	j := readToy(t, "joint-l4v3")
	texts, laws := j.rows(), map[string]map[string]float64{}
	for planner, c := range map[string]struct{ bound, sample []string }{
		"uniform":     {nil, []string{"planner.name=random"}},
		"greedy":      {nil, []string{"planner.name=p2", "planner.unmask_score=keep"}},
		"soft_greedy": {[]string{"planner.tau=0.5"}, []string{"planner.name=p2", "planner.unmask_score=keep", "planner.planner_temperature=0.5"}},
	} {
		law := map[string]float64{}
		var lines []string
		for _, x := range texts {
			lines = append(lines, fmt.Sprintf(`{"text": %q}`, x))
		}
		input, err := train.ReadTexts("lines", strings.NewReader(strings.Join(lines, "\n")))
		must(t, err)
		_, err = train.PlannedScores(context.Background(), flags(t, append(c.bound, "model="+j.dir, "planner.name="+planner, "runtime.threads=1")...), host.Options{},
			train.PlannedOptions{Bound: "pelbo", Draws: 1, Exact: true}, input, func(s train.Score) error {
				p := s.Parts[len(s.Parts)-1].NatsPerRow.Value
				law[s.Text] = math.Exp(-p)
				if s.Nats.Value < p-1e-9 {
					t.Errorf("%s %s: bound %v below -log p = %v", planner, s.Text, s.Nats, p)
				}
				return nil
			}, train.Streams{Err: os.Stderr})
		must(t, err)
		h, err := host.Open(context.Background(), flags(t, append(c.sample, "model="+j.dir, "runtime.threads=1", "seed=4", "batch=64")...), host.Options{InProcess: true})
		must(t, err)
		asked, err := h.Model().EncodeTokens(slices.Repeat([]int32{h.Model().MaskID}, 4))
		must(t, err)
		next, found := int64(0), map[string]float64{}
		_, err = h.Sample(context.Background(), n, func() (sampling.Request, bool) {
			next++
			return sampling.Request{Index: next - 1, Tokens: asked.Tokens, Fixed: asked.Fixed, Params: sampling.Params{Temperature: 1, TopP: 1}}, next <= n
		}, func(r sampling.Result) error {
			found[h.Model().Tokenizer.Decode(r.Tokens, true)] += 1.0 / n
			return r.Err
		})
		must(t, errors.Join(err, h.Close()))
		laws[planner] = law
		tv, spread, total := 0.0, 0.0, 0.0
		for _, x := range texts {
			tv += math.Abs(found[x]-law[x]) / 2
			spread += math.Sqrt(law[x]*(1-law[x])/n) / 2
			total += law[x]
		}
		if math.Abs(total-1) > 1e-5 {
			t.Errorf("%s: the law adds up to %v", planner, total)
		}
		if most := spread + math.Sqrt(math.Log(1e9)/(2*n)); tv > most {
			t.Errorf("%s: total variation %.4f from the law, at most %.4f by chance", planner, tv, most)
		}
	}
	apart := 0.0
	for _, x := range texts {
		apart += math.Abs(laws["greedy"][x]-laws["uniform"][x]) / 2
	}
	if apart < 0.1 {
		t.Errorf("greedy and uniform laws are %.4f apart: the test tells nothing from anything", apart)
	}
}

// TestSelfPlanningHalves: E_MP is E_D to the last bit, and a planner that keeps everything has no E_UP.
func TestSelfPlanningHalves(t *testing.T) {
	j := readToy(t, "joint-l6v2")
	r, err := measure(t, train.PlannedOptions{Bound: "p2", Draws: 3}, j.lines(t, "text", j.rows()[:10], "planner.name=keep")...)
	must(t, err)
	if r.Parts[0].NatsPerRow != r.Parts[1].NatsPerRow || r.Parts[2].NatsPerRow.Value != 0 {
		t.Errorf("%+v", r.Parts)
	}
}

// TestPlannerOfAFile: the planner that a file names is one that samples; a bound's own is named by flags alone.
func TestPlannerOfAFile(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	path := t.TempDir() + "/settings.yaml"
	must(t, os.WriteFile(path, []byte("planner: {name: eb, gamma: 0.2}\n"), 0o600))
	var given []config.Assignment
	for _, s := range j.lines(t, "text", []string{"abca"}) {
		key, value, _ := strings.Cut(s, "=")
		given = append(given, config.Assignment{Key: key, Value: value, Flag: "--set " + key})
	}
	cfg, err := config.Load(config.Sources{File: path, Flags: given})
	must(t, err)
	r, err := train.Planned(context.Background(), cfg, host.Options{}, train.PlannedOptions{Bound: "p2", Draws: 1}, train.Streams{Err: os.Stderr})
	must(t, err)
	if r.Planner != "self" {
		t.Errorf("planner %s", r.Planner)
	}
}

// TestPlannedScores: a text's bound is that of its row, with its parts, and depends on no other text.
func TestPlannedScores(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	scored := func(p train.PlannedOptions, lines string, settings ...string) (out []train.Score) {
		t.Helper()
		texts, err := train.ReadTexts("lines", strings.NewReader(lines))
		must(t, err)
		_, err = train.PlannedScores(context.Background(), flags(t, append(settings, "model="+j.dir, "runtime.threads=1")...), host.Options{}, p, texts, func(s train.Score) error {
			out = append(out, s)
			return nil
		}, train.Streams{Err: os.Stderr})
		must(t, err)
		return out
	}
	const lines = `{"text": "abca"}
{"prompt": "ab", "text": "cc"}`
	want := []float64{-math.Log(j.P["abca"]), -math.Log(j.P["abcc"] / j.given("ab.."))}
	for i, s := range scored(train.PlannedOptions{Bound: "pelbo", Draws: 1, Exact: true}, lines, "planner.name=uniform") {
		if math.Abs(s.Nats.Value-want[i]) > 1e-5 || s.Kind != "bound" || len(s.Parts) != 3 || s.Parts[2].Name != "-log p" || s.Parts[2].NatsPerRow.Value != s.Nats.Value && math.Abs(s.Parts[2].NatsPerRow.Value-want[i]) > 1e-5 || s.Draws != 0 {
			t.Errorf("text %d: %+v, want %v nats", i, s, want[i])
		}
	}
	all := scored(train.PlannedOptions{Bound: "p2", Draws: 5}, lines)
	alone := scored(train.PlannedOptions{Bound: "p2", Draws: 5}, `{"prompt": "ab", "text": "cc"}`)
	if all[1].Nats != alone[0].Nats || all[1].Parts[2].NatsPerRow != alone[0].Parts[2].NatsPerRow || all[0].Kind != "path_bound" {
		t.Errorf("%+v beside another text, %+v alone", all[1], alone[0])
	}
}

// TestPlannedRefused: what no bound can be taken of, with what to do.
func TestPlannedRefused(t *testing.T) {
	j := readToy(t, "joint-l4v3")
	lines := func(more ...string) []string { return j.lines(t, "text", []string{"abca"}, more...) }
	for name, c := range map[string]struct {
		p        train.PlannedOptions
		settings []string
		want     []string
	}{
		"bound":      {train.PlannedOptions{Bound: "pelbow"}, lines(), []string{`no bound "pelbow"`, "did you mean pelbo?"}},
		"planner":    {train.PlannedOptions{Bound: "p2"}, lines("planner.name=greedy"), []string{`bound p2 knows no planner "greedy"`, "ancestral, keep, network, self"}},
		"option":     {train.PlannedOptions{Bound: "pelbo"}, lines("planner.name=soft_greedy", "planner.taus=1"), []string{"planner.taus: unknown option; did you mean tau?"}},
		"range":      {train.PlannedOptions{Bound: "pelbo"}, lines("planner.name=p2_topk", "planner.eta=0"), []string{"planner.eta"}},
		"no network": {train.PlannedOptions{Bound: "p2"}, lines("planner.name=network"), []string{"planner.network: is empty", "--set planner.network=DIR"}},
		"unread":     {train.PlannedOptions{Bound: "pelbo"}, lines("planner.network=" + j.dir), []string{"planner greedy of bound pelbo reads no network", "leave it out"}},
		"calls":      {train.PlannedOptions{Bound: "p2"}, lines("planner.network="+j.dir, "planner.mask_score=network"), []string{"a call of the network for every masked position", "planner.per_position=true"}},
		"long":       {train.PlannedOptions{Bound: "p2", Exact: true}, []string{"data.column=text", "data.layout=padded", "data.length=20", "data.valid=" + long(t)}, []string{"row 0: has 15 free positions", "at most 12"}},
	} {
		_, err := measure(t, c.p, c.settings...)
		t.Run(name, func(t *testing.T) { wantError(t, err, c.want...) })
	}
	// One path needs no enumeration.
	if _, err := measure(t, train.PlannedOptions{Bound: "pelbo"}, "data.column=text", "data.layout=padded", "data.length=20", "data.valid="+long(t)); err != nil {
		t.Error(err)
	}
}
