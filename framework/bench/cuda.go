package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/network"
)

// scene is a network of random weights that is sampled from on a GPU.
type scene struct {
	name   string
	what   string
	config network.Config
	sizes  []size
}

// scenes are measured on a GPU: what a pass takes does not depend on the weights.
var scenes = []scene{
	{"d256", "8 layers, d 256, feed-forward 1024, rotary positions", network.Config{Layers: 8, HiddenSize: 256, Heads: 4, Activation: network.GELU, Bias: true},
		[]size{{1, 64, 1, 16}, {8, 256, 1, 16}, {64, 256, 1, 16}}},
	{"d768", "12 layers, d 768, feed-forward 3072, rotary positions", network.Config{Layers: 12, HiddenSize: 768, Heads: 12, Activation: network.GELU, Bias: true},
		[]size{{1, 64, 1, 16}, {8, 256, 1, 16}, {64, 256, 1, 8}}},
}

// dryScene is what a machine without a GPU can do in seconds.
var dryScene = scene{"d32", "2 layers, d 32", network.Config{Layers: 2, HiddenSize: 32, Heads: 2, Activation: network.GELU, Bias: true}, []size{{2, 16, 1, 4}}}

// cuda compares sampling on a GPU with PyTorch on the same, eager and compiled, and says what memory each takes. With --provider cpu
// it does the same with a tiny network on the CPU, to show that it works; the figures then mean nothing.
func (b bench) cuda(ctx context.Context) (err error) {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	all := scenes
	if b.provider == "cpu" {
		all = []scene{dryScene}
	}
	for _, s := range all {
		at := filepath.Join(dir, s.name)
		if err := b.writeShaped(at, s.config); err != nil {
			return err
		}
		fmt.Printf("# %s: %s\n", s.name, s.what)
		if err := errors.Join(b.compareOnDevice(ctx, dir, at, s), ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// backend is what the compiled peers are compiled with.
func (b bench) backend() string {
	if b.provider == "cpu" {
		return "eager" // traces and compiles nothing
	}
	return "inductor"
}

// compareOnDevice measures all sizes of a scene, in turns. Sides start one after the other, so that the memory of each is what the device
// has less of.
func (b bench) compareOnDevice(ctx context.Context, dir, at string, s scene) (err error) {
	var subjects []func(size) subject
	var closers []func() error
	defer func() {
		for _, c := range slices.Backward(closers) {
			err = errors.Join(err, c())
		}
	}()
	names := []string{}
	memory := map[string]float64{}
	add := func(name string, open func() (func(size) (float64, error), func() error, error)) error {
		before, err := b.deviceMemory(ctx)
		if err != nil {
			return err
		}
		run, closes, err := open()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		closers = append(closers, closes)
		for _, z := range s.sizes { // so that all memory is taken
			if _, err := run(z); err != nil {
				return fmt.Errorf("%s, %s: %w", name, z, err)
			}
		}
		after, err := b.deviceMemory(ctx)
		if err != nil {
			return err
		}
		names, memory[name] = append(names, name), after-before
		subjects = append(subjects, func(z size) subject { return subject{name, func() (float64, error) { return run(z) }} })
		return nil
	}
	ours := func(settings ...string) func() (func(size) (float64, error), func() error, error) {
		return func() (func(size) (float64, error), func() error, error) {
			l, err := b.openOn(ctx, at, settings...)
			if err != nil {
				return nil, nil, err
			}
			for _, note := range l.Notes() {
				fmt.Println("#  ", note)
			}
			return func(z size) (float64, error) { return l.measure(ctx, z) }, l.Close, nil
		}
	}
	torch := func(backend string) func() (func(size) (float64, error), func() error, error) {
		return func() (func(size) (float64, error), func() error, error) {
			p, err := startPeer(b.python, filepath.Join(dir, "peers", "torch_cuda.py"), at, b.provider, backend)
			if err != nil {
				return nil, nil, err
			}
			return func(z size) (float64, error) { return p.measure("loop", z) }, p.close, nil
		}
	}
	if err := add("mdmhost", ours()); err != nil {
		return err
	}
	var failed error
	if b.provider != "cpu" {
		if err := add("mdmhost_graph", ours("runtime.cuda_graph=true")); err != nil { // the others are measured all the same
			fmt.Printf("mdmhost with CUDA graphs failed\n# %v\n", err)
			failed = err
		}
	}
	for _, peer := range [][2]string{{"eager", ""}, {"compiled", b.backend()}} {
		var lacks missing
		if err := add(peer[0], torch(peer[1])); errors.As(err, &lacks) {
			fmt.Printf("peer torch missing\n# %s: %s\n", b.python, lacks)
			break
		} else if err != nil { // the others are measured all the same
			fmt.Printf("peer torch %s failed\n# %v\n", peer[0], err)
			failed = errors.Join(failed, err)
		}
	}
	for _, z := range s.sizes {
		var of []subject
		for _, make := range subjects {
			of = append(of, make(z))
		}
		ms, err := interleave(b.budget, 5, 40, of...)
		if err != nil {
			return err
		}
		label := fmt.Sprintf("%s_b%d_l%d", s.name, z.B, z.L)
		fmt.Printf("# %s: %d rounds, ms per NFE:", label, len(ms[0]))
		for i, name := range names {
			fmt.Printf(" %s %.3f", name, median(ms[i]))
		}
		fmt.Println()
		if err := b.reportOnDevice("nfe", label, "<=0.8", names, func(i, k int) float64 { return paired(ms[i], ms[k]) }); err != nil {
			return err
		}
	}
	fmt.Printf("# %s: MiB of the device after all sizes:", s.name)
	for _, name := range names {
		fmt.Printf(" %s %.0f", name, memory[name])
	}
	fmt.Println()
	if b.provider == "cpu" {
		return failed
	}
	return errors.Join(failed, b.reportOnDevice("memory", s.name, "", names, func(i, k int) float64 { return memory[names[i]] / memory[names[k]] }))
}

// reportOnDevice prints the ratio of each of our sides to each of PyTorch's: nfe_vs_torch_cuda_eager_..., nfe_graph_vs_torch_cuda_compiled_...
func (b bench) reportOnDevice(figure, label, target string, names []string, value func(ours, theirs int) float64) error {
	var errs []error
	for i, our := range names {
		way, is := strings.CutPrefix(our, "mdmhost")
		for k, their := range names {
			if is && !strings.HasPrefix(their, "mdmhost") {
				errs = append(errs, report(os.Stdout, fmt.Sprintf("%s%s_vs_torch_%s_%s_%s", figure, way, b.provider, their, label), value(i, k), target))
			}
		}
	}
	return errors.Join(errs...)
}

// openOn opens a model on the provider that is measured.
func (b bench) openOn(ctx context.Context, model string, settings ...string) (*loop, error) {
	given := []config.Assignment{}
	for _, s := range append([]string{"model=" + model, "planner.name=confidence", "runtime.provider=" + b.provider, "sampling.temperature=0", "seed=1"}, settings...) {
		key, value, _ := strings.Cut(s, "=")
		given = append(given, config.Assignment{Key: key, Value: value, Flag: "bench"})
	}
	return openHost(ctx, false, given)
}

// deviceMemory is how many MiB of the first GPU are in use, by anybody; 0 where the CPU stands in for it.
func (b bench) deviceMemory(ctx context.Context) (float64, error) {
	if b.provider == "cpu" {
		return 0, nil
	}
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return 0, fmt.Errorf("nvidia-smi: %w; it comes with the driver", err)
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
