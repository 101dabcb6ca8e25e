package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// twinSteps of AdamW are taken by both sides.
const twinSteps = 300

// twin trains a denoiser of characters on a novel and, from what the run was fed, its twin in PyTorch: one thread each, the
// same initial values, rows and noise. It compares the bits per character on the validation text, where an evaluation draws
// the same noise, too.
func (b bench) twin(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "mdmhost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := training.Options{Seed: 1, Steps: twinSteps, Accumulate: 1, Rate: training.Rate{Kind: "cosine", Peak: 1.5e-3, Warmup: 50}, Clip: clip, EvalRows: 1024,
		CheckpointEvery: twinSteps, LogEvery: 1, Shuffle: true}
	feeds := filepath.Join(dir, "feeds")
	start := time.Now()
	ours, losses, err := b.trainText(ctx, o, filepath.Join(dir, "run"), feeds)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	start = time.Now()
	torch, theirs, err := b.trainTwin(ctx, feeds)
	if err != nil {
		return err
	}
	worst := 0.0
	for i := range min(len(losses), len(theirs)) {
		worst = math.Max(worst, math.Abs(losses[i]-theirs[i])/math.Abs(theirs[i]))
	}
	fmt.Printf("# text, %d steps: bits per character mdmhost %.5f (%.0f s), torch %.5f (%.0f s); losses on the way differ by %.1e at most\n",
		twinSteps, ours, seconds, torch, time.Since(start).Seconds(), worst)
	return report(os.Stdout, "text_bits_vs_torch", ours/torch, "<=1.01")
}

// trainText trains our side, writes down what it was fed, and returns the bits per character and the loss of every step.
func (b bench) trainText(ctx context.Context, o training.Options, dir, feeds string) (bits float64, losses []float64, err error) {
	spec := data.Defaults()
	spec.Train, spec.Valid = []string{filepath.Join(b.data, "text", "dickens_train.txt.gz")}, []string{filepath.Join(b.data, "text", "dickens_valid.txt.gz")}
	spec.Length = 128
	text, err := data.Open(ctx, spec, data.Options{})
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	s := &setting{name: "text", network: sized(text.Vocabulary.Size(), 128, spec.Length, network.RoPE), rows: 32, length: spec.Length, options: "{}"}
	s.network.HeadInit = "zeros"
	s.take(network.SpecialOf(text.Vocabulary))
	set, err := s.compose(autodiff.Options{Kernels: true})
	if err != nil {
		return 0, nil, err
	}
	digests, err := set.Digests()
	if err != nil {
		return 0, nil, err
	}
	p := training.Parts{Set: set, Train: text.Train, Valid: text.Valid, Initial: &training.State{Params: s.initial(set)},
		Names: training.Names{Config: "twin", Artifacts: digests}, Metrics: filepath.Join(dir, "metrics.jsonl")}
	p.Initial.M, p.Initial.V = make([]float32, len(p.Initial.Params)), make([]float32, len(p.Initial.Params))
	about := map[string]any{"trainer": "md4", "options": struct{}{}, "network": s.network, "mask": s.mask, "suppressed": s.suppressed}
	if err := training.WriteFeeds(feeds, about, o, p); err != nil {
		return 0, nil, err
	}
	if p.Device, err = onnx.OpenDevice(ctx, onnx.Options{Threads: 1}); err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, p.Device.Close()) }()
	if p.Store, err = checkpoint.Open(dir, 1); err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, p.Store.Close()) }()
	sum, err := training.Train(ctx, o, p)
	if err != nil {
		return 0, nil, err
	}
	lines, err := record.Read(p.Metrics)
	for _, l := range lines {
		if l.Kind == record.Train {
			losses = append(losses, l.Loss)
		}
	}
	return sum.Last.BitsPerToken(), losses, err
}

// trainTwin trains PyTorch's side.
func (b bench) trainTwin(ctx context.Context, feeds string) (bits float64, losses []float64, err error) {
	cmd := exec.CommandContext(ctx, b.python, "-B", filepath.Join("framework", "training", "testdata", "run.py"), feeds)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var said struct{ Step, Loss, Nats, Tokens float64 }
		if err = json.Unmarshal(lines.Bytes(), &said); err != nil {
			break
		}
		if said.Step > 0 {
			losses = append(losses, said.Loss)
		} else {
			bits = said.Nats / said.Tokens / math.Ln2
		}
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return 0, nil, fmt.Errorf("the twin in PyTorch: %w; `just peers` makes the environment, or set MDMHOST_PEERS", err)
	}
	return bits, losses, nil
}
