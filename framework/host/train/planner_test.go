package train_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/train"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// joint is a small distribution of rows: each as often as its number says.
var joint = map[string]int{"aabb": 6, "abab": 4, "bbaa": 3, "cabc": 2, "ccca": 1, "abca": 4, "bcbc": 4}

// ofJoint writes the rows.
func ofJoint(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("row\n")
	for _, row := range []string{"aabb", "abab", "bbaa", "cabc", "ccca", "abca", "bcbc"} {
		b.WriteString(strings.Repeat(row+"\n", joint[row]))
	}
	path := filepath.Join(t.TempDir(), "joint.csv")
	must(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// denoiserOf trains a poor denoiser of the joint and returns its directory, with the settings of the data.
func denoiserOf(t *testing.T) (dir string, settings []string) {
	t.Helper()
	first := filepath.Join(t.TempDir(), "denoiser")
	settings = []string{"data.train=" + ofJoint(t), "data.column=row", "data.layout=padded", "data.length=4", "data.valid_fraction=0.3", "network.hidden_size=32",
		"network.num_hidden_layers=2", "network.num_attention_heads=2", "network.positions=learned", "train.eval_every=20", "train.eval_rows=7", "train.checkpoint_every=41", "optimizer.warmup=5", "runtime.threads=1", "seed=7"}
	_, err := run(t, context.Background(), append([]string{"train.run=" + first, "train.steps=30", "train.batch=8"}, settings...)...)
	must(t, err)
	return filepath.Join(first, train.ModelDir), settings
}

// TestPlannersLearn trains both heads for a denoiser of the framework's and the vocabulary's from another model. The denoiser stays
// as it is: the share of its right tokens under the same noise is the same to the bit in every evaluation. What comes out is a
// planner, and no denoiser.
func TestPlannersLearn(t *testing.T) {
	dir, settings := denoiserOf(t)
	for name, c := range map[string]struct {
		more []string
		want model.Planner
	}{
		"binary":        {nil, model.Planner{Head: model.HeadBinary, MaskPattern: true}},
		"blind, half":   {[]string{"trainer.mask_pattern=false", "train.precision=float16"}, model.Planner{Head: model.HeadBinary}},
		"vocabulary":    {[]string{"trainer.head=vocabulary"}, model.Planner{Head: model.HeadVocabulary}},
		"another model": {[]string{"trainer.head=vocabulary", "train.planner_from=" + dir}, model.Planner{Head: model.HeadVocabulary}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := filepath.Join(t.TempDir(), "planner")
			more := slices.Concat(settings, []string{"train.run=" + to, "train.from=" + dir, "trainer.name=p2planner", "train.steps=1000", "train.checkpoint_every=500", "train.batch=32", "optimizer.lr=0.005", "train.eval_every=500"}, c.more)
			if c.want.Head == model.HeadVocabulary {
				more = slices.DeleteFunc(more, func(s string) bool { return strings.HasPrefix(s, "network.") }) // it is the denoiser's
			}
			_, err := run(t, context.Background(), more...)
			must(t, err)
			m, err := model.Open(filepath.Join(to, train.ModelDir), model.AsPlanner())
			must(t, err)
			if diff := cmp.Diff(&c.want, m.Manifest.Planner); diff != "" || m.Manifest.Family != "planner" || m.GenerationConfig != nil {
				t.Errorf("family %s, generation_config.json %q: %s", m.Manifest.Family, m.GenerationConfig, diff)
			}
			if _, err := m.Verify(); err != nil {
				t.Error(err)
			}
			_, err = model.Open(filepath.Join(to, train.ModelDir))
			wantError(t, err, `family is "planner"`, "expected a denoiser")
			learned(t, to, c.want.MaskPattern)
			c, _, err := checkpoint.Latest(to)
			must(t, err)
			f, err := c.Open(checkpoint.ModelFile)
			must(t, err)
			defer f.Close() //nolint:errcheck // only read
			for _, tensor := range f.Tensors() {
				if !strings.HasPrefix(tensor.Name, "planner.") {
					t.Errorf("the checkpoint holds %s; expected the planner's parameters alone", tensor.Name)
				}
			}
		})
	}
}

// learned holds the lines of a run against what a planner and a frozen denoiser must show. A planner that sees the masks beats the
// constant predictor of masked positions; one that does not may be worse there, for the loss weighs the unmasked ones of rows
// with few masks, which it cannot tell from others.
func learned(t *testing.T, dir string, sees bool) {
	t.Helper()
	lines, err := record.Read(filepath.Join(dir, train.MetricsFile))
	must(t, err)
	var evals []record.Line
	sum, constant, early, late := 0.0, 0.0, 0.0, 0.0
	for _, l := range lines {
		switch {
		case l.Kind == record.Eval:
			evals = append(evals, l)
		case l.Step <= 100:
			early += l.Loss / 10
		case l.Step > 900:
			late, sum, constant = late+l.Loss/10, sum+l.Metrics["bce_masked"]/10, constant+l.Metrics["constant_masked"]/10
		}
	}
	if !(late < 0.97*early) {
		t.Errorf("the loss was %.3f in the first hundred steps and %.3f in the last; expected it to fall by 3 %%", early, late)
	}
	if sees && !(sum < 0.95*constant) {
		t.Errorf("cross-entropy at masked positions %.3f, the constant predictor's %.3f; expected 5 %% less", sum, constant)
	}
	if len(evals) < 2 {
		t.Fatalf("%d evaluations, expected 2", len(evals))
	}
	for _, name := range []string{"right_masked", "right_unmasked"} {
		if first, last := evals[0].Metrics[name], evals[len(evals)-1].Metrics[name]; first != last || first == 0 {
			t.Errorf("%s was %v in the first evaluation and %v in the last: the denoiser changed", name, first, last)
		}
	}
}

// TestPlannerFindsTheConditional: where unmasked tokens are kept, the best planner is P(x0_i = z_i | unmasked tokens) whatever the
// denoiser is, which can be enumerated. Trained long enough it is near, state by state.
func TestPlannerFindsTheConditional(t *testing.T) {
	dir, settings := denoiserOf(t)
	to := filepath.Join(t.TempDir(), "planner")
	_, err := run(t, context.Background(), slices.Concat(settings, []string{"train.run=" + to, "train.from=" + dir, "trainer.name=p2planner", "trainer.mix=1", "trainer.temperature=2",
		"data.valid_fraction=0", "train.eval_every=0", "train.steps=1500", "train.checkpoint_every=1500", "train.batch=64", "optimizer.lr=0.005"})...)
	must(t, err)
	m, err := model.Open(filepath.Join(to, train.ModelDir), model.AsPlanner())
	must(t, err)
	letters := "abc"
	var rows [][2][]int64 // z and the pattern
	var wants, weights [][]float64
	for pattern := 1; pattern < 16; pattern++ {
		for code := range 81 {
			z := []byte{letters[code%3], letters[code/3%3], letters[code/9%3], letters[code/27]}
			total, hits := 0.0, make([]float64, 4)
			for row, n := range joint {
				agrees := true
				for i := range 4 {
					agrees = agrees && (pattern>>i&1 == 1 || row[i] == z[i])
				}
				if !agrees {
					continue
				}
				total += float64(n)
				for i := range 4 {
					if row[i] == z[i] {
						hits[i] += float64(n)
					}
				}
			}
			if total == 0 {
				continue
			}
			r, want, weight := [2][]int64{}, make([]float64, 4), make([]float64, 4)
			for i := range 4 {
				id, _ := m.Tokenizer.ID(string(z[i]))
				r[0], r[1] = append(r[0], int64(id)), append(r[1], int64(pattern>>i&1))
				want[i], weight[i] = hits[i]/total, total*float64(pattern>>i&1)
			}
			rows, wants, weights = append(rows, r), append(wants, want), append(weights, weight)
		}
	}
	got := keeps(t, m, rows)
	off, all := 0.0, 0.0
	for i := range rows {
		for j := range 4 {
			off += weights[i][j] * math.Abs(1/(1+math.Exp(-float64(got[4*i+j])))-wants[i][j])
			all += weights[i][j]
		}
	}
	if mean := off / all; !(mean < 0.06) {
		t.Errorf("the planner is %.3f off the conditional on average over %d states; expected less than 0.06", mean, len(rows))
	} else {
		t.Logf("%.4f off on average over %d states", mean, len(rows))
	}
}

// keeps runs a planner on rows of four positions.
func keeps(t *testing.T, m *model.Model, rows [][2][]int64) []float32 {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1, Kernels: onnx.KernelsStandard})
	must(t, err)
	defer func() { must(t, d.Close()) }()
	p, err := d.NewProgram(t.Context(), onnx.Model{Name: "planner", Data: m.ONNX}, onnx.ProgramOptions{Outputs: []string{"keep"}, Dims: map[string]int64{"B": int64(len(rows)), "L": 4}})
	must(t, err)
	defer func() { must(t, p.Close()) }()
	feed, err := p.NewFeed()
	must(t, err)
	for _, name := range []string{"input_ids", "attention_mask", "masked"} {
		to, err := feed.Int64(name)
		must(t, err)
		for i := range to {
			switch name {
			case "input_ids":
				to[i] = rows[i/4][0][i%4]
			case "masked":
				to[i] = rows[i/4][1][i%4]
			default:
				to[i] = 1
			}
		}
	}
	must(t, p.Run(t.Context(), feed))
	out, err := p.Output("keep")
	must(t, err)
	return slices.Clone(out)
}

// TestKilledPlannersGoOn kills training processes at random moments: the same bits as an undisturbed run.
func TestKilledPlannersGoOn(t *testing.T) {
	const steps, kills = 1500, 5
	dir, settings := denoiserOf(t)
	calm, killed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "killed")
	more := slices.Concat([]string{"train.run=" + calm, "train.from=" + dir, "trainer.name=p2planner", fmt.Sprint("train.steps=", steps), "train.batch=8"},
		slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return strings.HasPrefix(s, "train.eval_every") }), []string{"train.eval_every=300"})
	began := time.Now()
	_, err := run(t, context.Background(), more...)
	must(t, err)
	want, longest := outcomeOf(t, calm, steps), time.Since(began)/3
	more[0] = "train.run=" + killed
	if n, got := killAndGoOn(t, more, killed, steps, kills, &longest); got == 0 {
		t.Errorf("%d kills, none of them of a run that had got further", n)
	}
	if diff := cmp.Diff(want, outcomeOf(t, killed, steps)); diff != "" {
		t.Error(diff)
	}
}

// TestPlannerGoesOnFromPlanner begins with a finished planner: a step of next to no length leaves it as it is.
func TestPlannerGoesOnFromPlanner(t *testing.T) {
	dir, settings := denoiserOf(t)
	home := t.TempDir()
	train1 := func(to string, more ...string) *model.Model {
		_, err := run(t, context.Background(), slices.Concat(settings, []string{"train.run=" + filepath.Join(home, to), "train.from=" + dir, "trainer.name=p2planner", "train.batch=8"}, more)...)
		must(t, err)
		m, err := model.Open(filepath.Join(home, to, train.ModelDir), model.AsPlanner())
		must(t, err)
		return m
	}
	first := train1("first", "train.steps=30")
	second := train1("second", "train.steps=1", "optimizer.lr=1e-30", "train.planner_from="+first.Dir)
	rows := [][2][]int64{{{0, 1, 2, 1}, {1, 0, 0, 1}}, {{2, 1, 0, 1}, {0, 1, 1, 1}}}
	if diff := cmp.Diff(keeps(t, first, rows), keeps(t, second, rows)); diff != "" {
		t.Error(diff)
	}
}

// TestForeignPlanner trains copies of somebody's ONNX file: what comes out is that file with other values.
func TestForeignPlanner(t *testing.T) {
	to := filepath.Join(t.TempDir(), "run")
	_, err := run(t, context.Background(), "train.run="+to, "train.from=rxnmapper-albert", "trainer.name=p2planner", "trainer.head=vocabulary", "data.train="+molecules(t), "data.column=smiles", "data.layout=padded",
		"data.length=24", "train.steps=3", "train.batch=4", "optimizer.lr=0.0005", "train.precision=float16", "runtime.threads=1", "seed=5")
	must(t, err)
	m, err := model.Open(filepath.Join(to, "model"), model.AsPlanner())
	must(t, err)
	if names, err := m.Verify(); err != nil || len(names) != 3 || m.Manifest.Planner.Head != model.HeadVocabulary || m.Signature.V == 0 {
		t.Errorf("%d files have digests, expected 3: %v; planner %+v", len(names), err, m.Manifest.Planner)
	}
}

// TestPlannerRefusals: what cannot become a planner is told before anything is written.
func TestPlannerRefusals(t *testing.T) {
	dir, settings := denoiserOf(t)
	for name, c := range map[string]struct {
		more, want []string
	}{
		"no denoiser":      {[]string{"train.from="}, []string{"train.from", "is empty, and trainer p2planner leaves the denoiser as it is", "--from"}},
		"no planner":       {[]string{"trainer.name=md4", "train.planner_from=" + dir}, []string{"train.planner_from", "trainer md4 trains no planner"}},
		"time":             {[]string{"network.time=adaln"}, []string{"network.time", "a planner is not told the time"}},
		"tied":             {[]string{"network.tie_word_embeddings=true"}, []string{"network.tie_word_embeddings", "gives no logits of tokens"}},
		"other vocabulary": {[]string{"train.planner_from=rxnmapper-albert"}, []string{"train.planner_from: token 0 of rxnmapper-albert is", "the same vocabulary"}},
		"other head":       {[]string{"train.planner_from=" + dir}, []string{"train.planner_from: ", `expected head "keep" with masked_input true`}},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "run")
			_, err := run(t, context.Background(), slices.Concat(settings, []string{"train.run=" + to, "train.from=" + dir, "trainer.name=p2planner", "train.steps=2"}, c.more)...)
			wantError(t, err, c.want...)
			if _, err := os.Stat(filepath.Join(to, train.ConfigFile)); err == nil {
				t.Error("the run was begun")
			}
		})
	}
	to := filepath.Join(t.TempDir(), "run")
	_, err := run(t, context.Background(), slices.Concat(settings, []string{"train.run=" + to, "train.from=" + dir, "trainer.name=p2planner", "train.steps=2", "train.batch=4"})...)
	must(t, err)
	cfg, err := load("model="+filepath.Join(to, train.ModelDir), "data.valid="+ofJoint(t), "data.column=row")
	must(t, err)
	_, err = train.Evaluate(t.Context(), cfg, host.Options{}, train.EvalOptions{Draws: 1}, train.Streams{Err: os.Stderr})
	wantError(t, err, `family is "planner"`, "expected a denoiser")
}
