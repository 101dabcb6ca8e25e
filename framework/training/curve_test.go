package training_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/plugins/trainers/md4"
	"github.com/mdmhost/mdmhost/plugins/trainers/papl"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

var feeds = flag.String("feeds", "", "directory to write the runs of TestCurve to, for testdata/golden.py, in the place of running them")

// curve is a run of a whole transformer.
type curve struct {
	name    string
	trainer spec.Trainer
	options string
	network network.Config
}

var curves = []curve{
	{"md4", md4.New(), `{}`, network.Config{Norm: "layer", Activation: "gelu", Positions: "rope"}},
	{"papl", papl.New(), `{"form": "paper", "alpha": 1, "tau": 1}`, network.Config{Norm: "rms", Activation: "swiglu", Positions: "learned", Tied: true}},
}

var curveOptions = training.Options{Seed: 7, Steps: 50, Accumulate: 1, Rate: training.Rate{Kind: "cosine", Peak: 5e-3, Warmup: 5}, Clip: 1, EMA: 0.99,
	CheckpointEvery: 1000, LogEvery: 1, Shuffle: true}

// TestCurve holds 50 steps of AdamW against PyTorch's: the same initial values, rows and noise, with padding and clipping. Every
// loss on the way is equal to 1e-4, in every form and with one thread and two.
func TestCurve(t *testing.T) {
	if *feeds != "" {
		if err := os.MkdirAll(*feeds, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var golden map[string][]float64
	text, err := os.ReadFile("testdata/golden.json")
	if err == nil {
		err = json.Unmarshal(text, &golden)
	}
	if err != nil && *feeds == "" {
		t.Fatal(err)
	}
	rows := words(t)
	for _, c := range curves {
		if *feeds != "" {
			p, about := c.parts(t, rows, autodiff.Options{})
			if err := training.WriteFeeds(filepath.Join(*feeds, c.name), about, curveOptions, p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, form := range []autodiff.Options{{}, {Kernels: true}, {Recompute: true}} {
			for threads := 1; threads <= 2; threads++ {
				t.Run(fmt.Sprintf("%s/kernels=%v,recompute=%v/threads=%d", c.name, form.Kernels, form.Recompute, threads), func(t *testing.T) {
					compareCurve(t, c.run(t, rows, form, threads), golden[c.name])
				})
			}
		}
	}
}

func compareCurve(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d steps, and %d of PyTorch", len(got), len(want))
	}
	worst := 0.0
	for i := range want {
		e := math.Abs(got[i]-want[i]) / math.Abs(want[i])
		if worst = math.Max(worst, e); !(e <= 1e-4) {
			t.Fatalf("step %d: loss %v, PyTorch's is %v", i+1, got[i], want[i])
		}
	}
	t.Logf("%v to %v, worst relative difference %.1e", got[0], got[len(got)-1], worst)
}

// words are records of 5 to 24 characters: three of a kind follow each other, and some kinds are more frequent.
func words(t *testing.T) *data.Data {
	random := rand.New(rand.NewPCG(3, 5))
	var text strings.Builder
	for range 300 {
		letter := 0
		for i := range 5 + random.IntN(20) {
			if i%3 == 0 {
				letter = min(random.IntN(10), random.IntN(10), random.IntN(10))
			}
			text.WriteByte(byte('a' + letter))
		}
		text.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), "words.csv")
	if err := os.WriteFile(path, []byte("word\n"+text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	s := data.Defaults()
	s.Train, s.Column, s.Layout, s.Length = []string{path}, "word", data.Padded, 24
	d, err := data.Open(t.Context(), s, data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// parts composes the run, and says what a twin of it must know.
func (c curve) parts(t *testing.T, rows *data.Data, form autodiff.Options) (training.Parts, any) {
	t.Helper()
	special := network.SpecialOf(rows.Vocabulary)
	n := c.network
	n.VocabSize, n.HiddenSize, n.Layers, n.Heads, n.MaxPositions, n.Bias = rows.Vocabulary.Size(), 64, 2, 4, rows.Train.Length(), true
	n = n.Filled()
	net := artifact.Transformer(n)
	task := spec.Task{Options: []byte(c.options), V: n.VocabSize, MaskID: int64(special.Mask), PadID: int64(special.Pad),
		Suppressed: []int64{int64(special.Mask), int64(special.Pad)}, Denoiser: net.Signature(), Opset: graph.DefaultOpset}
	slices.Sort(task.Suppressed)
	reply, err := c.trainer.Build(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	set, err := artifact.Compose(artifact.Composition{Task: task, Reply: reply, Networks: map[string]artifact.Network{spec.Denoiser: net}, Rows: 16, EvalRows: 16,
		Length: rows.Train.Length(), Adam: artifact.AdamW{Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8, WeightDecay: 0.03, Average: true}, Autodiff: form})
	if err != nil {
		t.Fatal(err)
	}
	values, initial := network.Initialise(n, 11), &training.State{}
	for _, p := range network.Params(n) {
		initial.Params = append(initial.Params, values[p.Name]...)
	}
	initial.M, initial.V = make([]float32, len(initial.Params)), make([]float32, len(initial.Params))
	about := map[string]any{"trainer": c.name, "options": json.RawMessage(c.options), "network": n, "mask": task.MaskID, "suppressed": task.Suppressed}
	return training.Parts{Set: set, Train: rows.Train, Initial: initial}, about
}

// run trains and returns the losses of metrics.jsonl.
func (c curve) run(t *testing.T, rows *data.Data, form autodiff.Options, threads int) []float64 {
	t.Helper()
	p, _ := c.parts(t, rows, form)
	kernels := onnx.KernelsStandard
	if form.Kernels {
		kernels = onnx.KernelsFused
	}
	device, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: threads, Kernels: kernels})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	dir := t.TempDir()
	if p.Store, err = checkpoint.Open(dir, 1); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Store.Close() }()
	digests, err := p.Set.Digests()
	if err != nil {
		t.Fatal(err)
	}
	p.Device, p.Names, p.Metrics = device, training.Names{Config: "curve", Artifacts: digests}, filepath.Join(dir, "metrics.jsonl")
	if _, err := training.Train(context.WithoutCancel(t.Context()), curveOptions, p); err != nil {
		t.Fatal(err)
	}
	lines, err := record.Read(p.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	var losses []float64
	for _, l := range lines {
		if l.Kind == record.Train {
			losses = append(losses, l.Loss)
		}
	}
	return losses
}
