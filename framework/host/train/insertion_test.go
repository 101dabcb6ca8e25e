package train_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training/record"
)

// words writes all words of two runs of one or two letters around a separator, three times each, and empty ones.
func words(t *testing.T) string {
	t.Helper()
	runs := []string{"a", "b", "aa", "ab", "ba", "bb"}
	var b strings.Builder
	for range 3 {
		for _, left := range runs {
			for _, right := range runs {
				b.WriteString(`{"text": "` + left + "|" + right + "\"}\n")
			}
		}
		b.WriteString("{\"text\": \"\"}\n")
	}
	path := filepath.Join(t.TempDir(), "words.jsonl")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// rowsOf are the settings of the data of insertion models.
func rowsOf(t *testing.T) []string {
	return []string{"data.train=" + words(t), "data.valid_fraction=0.2", "data.column=text", "data.layout=padded", "data.length=6", "data.empty=keep", "runtime.threads=1", "seed=11"}
}

// inserting are the settings of a run that trains a small insertion model.
func inserting(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	return slices.Concat([]string{"train.run=" + dir}, rowsOf(t), []string{"data.eos=true", "network.gaps=eos", "network.time=adaln", "network.hidden_size=16", "network.num_hidden_layers=1",
		"network.num_attention_heads=2", "train.batch=16", "train.steps=40", "train.eval_rows=32", "train.log_every=10", "optimizer.warmup=5"}, more)
}

// TestInsertionTrainersLearn trains insertion models: the bound falls, what comes out says what it is, is measured by the bound of
// its trainer, and goes on where it stood, the order network included.
func TestInsertionTrainersLearn(t *testing.T) {
	for name, c := range map[string]struct {
		more  []string
		order string // "", "own" or "shared"
	}{
		"flexmdm":             {[]string{"trainer.name=flexmdm"}, ""},
		"loflexmdm":           {[]string{"trainer.name=loflexmdm", "order.hidden_size=8"}, "own"},
		"loflexmdm shared":    {[]string{"trainer.name=loflexmdm", "trainer.shared=true", "train.precision=float16"}, "shared"},
		"loflexmdm trainable": {[]string{"trainer.name=loflexmdm", "trainer.b_um=trainable", "network.unmask_rate=true", "network.time=none"}, "own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := filepath.Join(t.TempDir(), "first")
			out, err := run(t, context.Background(), inserting(t, first, append([]string{"train.steps=400", "optimizer.lr=0.005", "train.batch=32"}, c.more...)...)...)
			must(t, err)
			if begin, end := losses(t, first); !(end < 0.8*begin) {
				t.Errorf("%.3f bits per token at first, %.3f at last; expected a fifth less", begin, end)
			}
			if (c.order != "") != strings.Contains(out, "speeds of insertion b_in ") {
				t.Errorf("the summary says of speeds:\n%s", out)
			}
			m, err := model.Open(filepath.Join(first, train.ModelDir))
			must(t, err)
			if _, err := m.Verify(); err != nil {
				t.Error(err)
			}
			steps, _ := m.Generation["steps"].(float64)
			sampler, _ := m.Generation["sampler"].(map[string]any)
			if !m.Insertion() || m.Manifest.Gap != "eos" || *m.Manifest.Time.NoiseAt != 0 || m.Manifest.Schedule != (model.Schedule{Kind: "kumaraswamy", A: 1}) || m.Manifest.Length.Cap != 6 || steps != 128 || sampler["name"] != "insertion" {
				t.Errorf("%+v %v", m.Manifest, m.Generation)
			}
			saved := orderOf(t, m)
			if got := map[bool]string{true: "shared", false: "own"}[saved != nil && saved.Shared]; saved == nil && c.order != "" || saved != nil && got != c.order {
				t.Errorf("an order network %s, want %q", got, c.order)
			}
			report, err := eval(t, train.EvalOptions{Draws: 2}, "model="+m.Dir, "data.valid="+words(t), "data.column=text", "data.empty=keep")
			must(t, err)
			if report.Bound.Kind != "path_bound" || !(report.Bound.NatsPerRow.Value > 3) || !(report.Bound.NatsPerRow.Error > 0) {
				t.Errorf("%+v", report.Bound)
			}

			second := filepath.Join(t.TempDir(), "second")
			c.more = slices.DeleteFunc(c.more, func(s string) bool { return strings.HasPrefix(s, "train.precision") })
			_, err = run(t, context.Background(), slices.Concat([]string{"train.run=" + second, "train.from=" + m.Dir}, rowsOf(t), []string{"train.steps=1", "train.batch=16", "optimizer.lr=1e-12", "optimizer.ema=0", "optimizer.warmup=0", "train.eval_every=0"}, c.more)...)
			must(t, err)
			next, err := model.Open(filepath.Join(second, train.ModelDir))
			must(t, err)
			if again := orderOf(t, next); saved != nil {
				if diff := cmp.Diff(saved, again, cmp.Comparer(func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-9 })); diff != "" {
					t.Errorf("the order network did not go on where it stood: %s", diff)
				}
			}
		})
	}
}

// orderOf reads a model's order network.
func orderOf(t *testing.T, m *model.Model) *network.Order {
	t.Helper()
	c, _, err := network.From(m)
	must(t, err)
	o, err := network.ReadOrder(m, c)
	must(t, err)
	return o
}

// TestInsertionRefusals: what does not fit an insertion model is told before anything is written.
func TestInsertionRefusals(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	_, err := run(t, context.Background(), inserting(t, made, "trainer.name=loflexmdm", "train.steps=2")...)
	must(t, err)
	dir := filepath.Join(made, train.ModelDir)
	fewer := filepath.Join(t.TempDir(), "fewer.jsonl")
	must(t, os.WriteFile(fewer, []byte(strings.Repeat("{\"text\": \"a|b\"}\n", 20)), 0o600))
	ended := filepath.Join(t.TempDir(), "ended.jsonl")
	must(t, os.WriteFile(ended, []byte("{\"text\": \"a[EOS]b\"}\n"), 0o600))
	on := slices.Concat([]string{"train.from=" + dir}, rowsOf(t), []string{"train.steps=1"})
	for name, c := range map[string]struct {
		from           bool
		settings, want []string
	}{
		"masked trainer":     {false, []string{"trainer.name=md4"}, []string{"network.gaps: is eos, and trainer md4 is for masked models; choose trainer flexmdm or loflexmdm, or leave it out"}},
		"no gaps":            {false, []string{"trainer.name=flexmdm", "network.gaps="}, []string{"flexmdm", "--set network.gaps=eos"}},
		"no end":             {false, []string{"trainer.name=flexmdm", "data.eos=false", "data.train=" + fewer}, []string{"data.eos: is false, and rows of an insertion model end with a fixed token; set it to true"}},
		"a stream":           {false, []string{"trainer.name=flexmdm", "data.layout=packed", "data.empty=error", "data.train=" + fewer}, []string{"data.layout: is packed, and rows of an insertion model are records"}},
		"an end in a text":   {false, []string{"trainer.name=flexmdm", "data.train=" + ended}, []string{"ended.jsonl:1: has the end [EOS], which data must not have; take it out"}},
		"no order network":   {false, []string{"trainer.name=flexmdm", "order.num_hidden_layers=3"}, []string{"order.num_hidden_layers: is 3, and trainer flexmdm trains no order network; leave it out"}},
		"shared, sized":      {false, []string{"trainer.name=loflexmdm", "trainer.shared=true", "order.hidden_size=8"}, []string{"order.hidden_size: is 8, and the order network shares the denoiser's layers"}},
		"heads":              {false, []string{"trainer.name=loflexmdm", "order.num_attention_heads=3"}, []string{"order.num_attention_heads: 3 heads do not divide hidden_size 16"}},
		"cells":              {false, []string{"trainer.name=flexmdm", "network.positions=grid", "network.rows=2", "network.columns=3"}, []string{"network.positions: is \"grid\", and the tokens of rows that grow have no cells"}},
		"from, masked":       {true, []string{"trainer.name=md4"}, []string{"trainer.name: is md4, which is for masked models, and this is an insertion model; choose flexmdm or loflexmdm"}},
		"from, other order":  {true, []string{"trainer.name=loflexmdm", "order.hidden_size=8"}, []string{"order.hidden_size: is 8, and the order network of model ", "has 16"}},
		"from, now shared":   {true, []string{"trainer.name=loflexmdm", "trainer.shared=true"}, []string{"has layers of its own, and the trainer's shares the denoiser's layers"}},
		"from, unmask rates": {true, []string{"trainer.name=loflexmdm", "network.unmask_rate=true"}, []string{"network.unmask_rate", "is true, and model ", "its own"}},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "run")
			settings := inserting(t, to, c.settings...)
			if c.from {
				settings = slices.Concat([]string{"train.run=" + to}, on, c.settings)
			}
			_, err := run(t, context.Background(), settings...)
			wantError(t, err, c.want...)
			if _, err := os.Stat(to); err == nil {
				t.Error("something was written")
			}
		})
	}
	for want, o := range map[string]train.EvalOptions{"--exact is for masked models": {Draws: 1, Exact: true}, "--accuracy is for masked models": {Draws: 1, Accuracy: true}} {
		_, err := eval(t, o, "model="+dir, "data.valid="+words(t), "data.column=text", "data.empty=keep")
		wantError(t, err, "its rows grow by insertion", want)
	}
	_, err = eval(t, train.EvalOptions{Draws: 1}, "model="+dir, "trainer.name=md4", "data.valid="+words(t), "data.column=text", "data.empty=keep")
	wantError(t, err, "trainer.name: is md4, which is for masked models")
	_, err = eval(t, train.EvalOptions{Draws: 1}, "model="+dir, "data.valid="+fewer, "data.column=text", "data.layout=packed")
	wantError(t, err, "data.layout: is packed, and rows of an insertion model are records")
}

// TestInsertionScores: texts have path bounds, the empty one, too, and rows that no training row looks like are refused.
func TestInsertionScores(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	_, err := run(t, context.Background(), inserting(t, made, "trainer.name=loflexmdm")...)
	must(t, err)
	dir := "model=" + filepath.Join(made, train.ModelDir)
	got, err := scores(t, train.ScoreOptions{Draws: 8}, `{"text": "ab|a"}
{"text": ""}
{"prompt": "ab", "text": "|a"}
{"tokens": [0, 1, 2, 0, 5]}`, dir)
	must(t, err)
	for i, free := range []int{4, 0, 2, 4} {
		s := got[i]
		if s.Kind != "path_bound" || s.Tokens != free || !(s.Nats.Value > 0) || math.IsNaN(s.BitsPerToken.Value) != (free == 0) {
			t.Errorf("%+v", s)
		}
	}
	if got[0].Text != got[3].Text || got[0].Nats != got[3].Nats {
		t.Errorf("%+v as a text, %+v as tokens", got[0], got[3])
	}
	for line, want := range map[string]string{
		`{"tokens": [0, 1, 2, 0]}`:              "does not end with [EOS] ([5]), which ends every row of this model; add it",
		`{"tokens": [0, 5, 2, 5]}`:              "position 1: has the token [EOS] (id 5), which the model never writes",
		`{"infill": "a[MASK]", "answer": "a|"}`: "infill: its blanks are places where text may grow",
	} {
		_, err := scores(t, train.ScoreOptions{Draws: 1}, line, dir)
		wantError(t, err, want)
	}
}

// TestStrangeInsertionModels: models whose gaps or parameters are not as this program makes them are refused in so many words.
func TestStrangeInsertionModels(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	_, err := run(t, context.Background(), inserting(t, made, "trainer.name=flexmdm", "train.steps=2")...)
	must(t, err)
	change := func(file, old, new string) string {
		dir := filepath.Join(t.TempDir(), "strange")
		must(t, os.CopyFS(dir, os.DirFS(filepath.Join(made, train.ModelDir))))
		text, err := os.ReadFile(filepath.Join(dir, file))
		must(t, err)
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s has no %s", file, old)
		}
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(string(text), old, new)), 0o600))
		return dir
	}
	foreign := change("config.json", `"mdm-transformer"`, `"bert"`)
	_, err = run(t, context.Background(), slices.Concat([]string{"train.run=" + filepath.Join(t.TempDir(), "run"), "train.from=" + foreign, "trainer.name=flexmdm"}, rowsOf(t))...)
	wantError(t, err, "strange: is an insertion model of another program, and training needs one of this one's (model_type mdm-transformer)", "--set network.gaps=eos")
	_, err = eval(t, train.EvalOptions{Draws: 1}, "model="+foreign, "data.valid="+words(t), "data.column=text", "data.empty=keep")
	must(t, err)
	_, err = eval(t, train.EvalOptions{Draws: 1}, "model="+change("mdm.json", `"eos"`, `"n+1"`), "data.valid="+words(t), "data.column=text", "data.empty=keep")
	wantError(t, err, "strange: rates n+1 gaps of a row of n tokens", `rows that end with a fixed token (gap "eos" in mdm.json); export it so`)
	_, err = eval(t, train.EvalOptions{Draws: 1}, "model="+filepath.Join(made, train.ModelDir), "trainer.name=loflexmdm", "data.valid="+words(t), "data.column=text", "data.empty=keep")
	wantError(t, err, "trainer loflexmdm: its evaluation reads network order, which model directories do not hold")
}

// TestSpeedsAreLogged: every line of a run says how fast the order network is.
func TestSpeedsAreLogged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := run(t, context.Background(), inserting(t, dir, "trainer.name=loflexmdm")...)
	must(t, err)
	lines, err := record.Read(filepath.Join(dir, train.MetricsFile))
	must(t, err)
	for _, l := range lines {
		low, mean, high := l.Metrics["b_in_min"], l.Metrics["b_in"], l.Metrics["b_in_max"]
		if spread, ok := l.Metrics["b_in_spread"]; !(low > 0 && low <= mean && mean <= high) || !ok || spread < 0 {
			t.Errorf("step %d, %s: b_in %g, spread %g, %g to %g", l.Step, l.Kind, mean, spread, low, high)
		}
	}
	if len(lines) != 5 {
		t.Errorf("%d lines, want 4 of steps and an evaluation", len(lines))
	}
}
