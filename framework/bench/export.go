package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/exporters/onnx"
	"github.com/mdmhost/mdmhost/framework/network"
)

// precisions are those of exports that are compared with the source.
var precisions = []string{exporters.INT8, exporters.FP16, exporters.FP16Weights}

// exported is a network whose exports are measured.
type exported struct {
	name    string // of its figures
	what    string
	target  string          // of int8
	config  *network.Config // nil: the model of --model
	lengths []int           // the first gives the figures without a length
}

// shaped are networks of random weights: what a pass takes does not depend on them.
var shaped = []exported{
	{name: "d256", what: "rxnfp-bert: a BERT of 12 layers, d 256, feed-forward 512, exported by somebody else", target: ">=1.8", lengths: []int{64, 256}},
	{name: "d256_own", what: "a network of ours: 8 layers, d 256, feed-forward 1024, rotary positions", target: ">=1.8", lengths: []int{64, 256},
		config: &network.Config{Layers: 8, HiddenSize: 256, Heads: 4, Activation: network.GELU, Bias: true}},
	{name: "d768", what: "the shape of BERT base: 12 layers, d 768, feed-forward 3072, post-norm, learned positions", target: ">=2.5", lengths: []int{64},
		config: &network.Config{Layers: 12, HiddenSize: 768, Heads: 12, Activation: network.GELU, Positions: network.Learned, Bias: true, PostNorm: true, EmbeddingNorm: true, Tied: true}},
}

// export compares forward passes of exports with those of their source: host, sampler and statistics included, only the model directory is
// another. VALUE is how many times faster the export is: with one thread by the processor time of this process, which other work on the machine
// disturbs least, with two by the clock.
func (b bench) export(ctx context.Context) error {
	for _, e := range shaped {
		if err := errors.Join(b.compareExports(ctx, e), ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

func (b bench) compareExports(ctx context.Context, e exported) (err error) {
	work, err := os.MkdirTemp("", "mdmhost-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	source := b.model
	if e.config != nil {
		source = filepath.Join(work, exporters.FP32)
		if err := b.writeShaped(source, *e.config); err != nil {
			return err
		}
	}
	dirs := []string{source}
	sizes := []string{megabytes(source)}
	for _, p := range precisions {
		dir := filepath.Join(work, p)
		if err := writeExport(ctx, source, dir, p); err != nil {
			return err
		}
		dirs, sizes = append(dirs, dir), append(sizes, p+" "+megabytes(dir))
	}
	fmt.Printf("# %s: %s; MB: fp32 %s\n", e.name, e.what, strings.Join(sizes, ", "))
	for _, threads := range []int{1, 2} {
		if err := b.compareDirs(ctx, e, dirs, threads); err != nil {
			return err
		}
	}
	return nil
}

// compareDirs measures the source and its exports, in turns.
func (b bench) compareDirs(ctx context.Context, e exported, dirs []string, threads int) (err error) {
	var loops []*loop
	defer func() {
		for _, l := range loops {
			err = errors.Join(err, l.Close())
		}
	}()
	for _, dir := range dirs {
		at := b
		at.model = dir
		l, err := at.open(ctx, threads, false)
		if err != nil {
			return err
		}
		loops = append(loops, l)
	}
	for i, length := range e.lengths {
		s := size{8, length, threads, 4}
		var subjects []subject
		for k, l := range loops {
			subjects = append(subjects, subject{append([]string{exporters.FP32}, precisions...)[k], func() (float64, error) { return l.spent(ctx, s) }})
		}
		ms, err := interleave(b.budget, 5, 40, subjects...)
		if err != nil {
			return err
		}
		fmt.Printf("# %s %s: %d rounds, ms per NFE, %s:", e.name, s, len(ms[0]), clock(threads))
		for k := range subjects {
			fmt.Printf(" %s %.2f", subjects[k].name, median(ms[k]))
		}
		fmt.Println()
		for k, p := range precisions {
			name, target := strings.ReplaceAll(fmt.Sprintf("export_%s_%s", p, e.name), "-", "_"), ""
			if i > 0 || threads > 1 {
				name = fmt.Sprintf("%s_%s", name, s)
			}
			if p == exporters.INT8 {
				target = e.target
			}
			if err := report(os.Stdout, name, paired(ms[0], ms[k+1]), target); err != nil {
				return err
			}
		}
	}
	return nil
}

func clock(threads int) string {
	if threads == 1 {
		return "processor time"
	}
	return "by the clock"
}

// spent is [loop.measure] in the time that [clock] names.
func (l *loop) spent(ctx context.Context, s size) (float64, error) {
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		return 0, err
	}
	ms, err := l.measure(ctx, s)
	if err != nil || s.Threads > 1 {
		return ms, err
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
		return 0, err
	}
	of := func(u unix.Rusage) float64 { return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6 }
	return (of(after) - of(before)) / float64(l.accounts.Passes), nil
}

// writeShaped writes a model directory of random weights with the tokenizer of the model that is sampled from.
func (b bench) writeShaped(dir string, c network.Config) error {
	tokenizer, err := os.ReadFile(filepath.Join(b.model, "tokenizer.json"))
	if err != nil {
		return err
	}
	c.VocabSize, c.MaxPositions = vocabulary, 256
	c = c.Filled()
	return network.WriteModelDir(dir, network.ModelDir{Config: c, Values: network.Initialise(c, 1), Tokenizer: tokenizer})
}

// writeExport writes an export, which is not verified: its answers are not looked at.
func writeExport(ctx context.Context, source, dir, precision string) error {
	s, err := exporters.Open(ctx, source)
	if err != nil {
		return err
	}
	_, err = exporters.Export(ctx, onnx.New(), s, exporters.Options{Precision: precision, Verify: exporters.VerifyOff}, dir)
	return err
}

// megabytes is the size of a model's ONNX file.
func megabytes(dir string) string {
	info, err := os.Stat(filepath.Join(dir, "onnx", "model.onnx"))
	if err != nil {
		return "?"
	}
	return fmt.Sprintf("%.1f", float64(info.Size())/1e6)
}
