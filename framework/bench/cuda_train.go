package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mdmhost/mdmhost/framework/network"
)

// largeSettings are gradient steps that a GPU is used for.
var largeSettings = []*setting{
	{"sudoku", sized(14, 128, 81, network.Sudoku), nil, 512, 81, 13, []int64{13}, byTime},
	{"text", sized(64, 256, 256, network.RoPE), nil, 64, 256, 63, []int64{63}, byTime},
	{"wide", sized(64, 768, 256, network.RoPE), nil, 32, 256, 63, []int64{63}, byTime},
}

// drySetting is what a machine without a GPU can do in seconds.
var drySetting = &setting{"tiny", sized(14, 32, 81, network.Sudoku), nil, 4, 81, 13, []int64{13}, byTime}

// cudaTrain compares gradient steps on a GPU with PyTorch's on the same, eager and compiled, and lists the operators that ran on the CPU. With
// --provider cpu it does the same with a tiny network on the CPU.
func (b bench) cudaTrain(ctx context.Context) (err error) {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	all := largeSettings
	if b.provider == "cpu" {
		all = []*setting{drySetting}
	}
	for _, s := range all {
		if err := s.write(filepath.Join(dir, s.name)); err != nil {
			return fmt.Errorf("setting %s: %w", s.name, err)
		}
		if err := errors.Join(b.compareStepsOnDevice(ctx, dir, s), ctx.Err()); err != nil {
			return fmt.Errorf("setting %s: %w", s.name, err)
		}
	}
	return nil
}

func (b bench) compareStepsOnDevice(ctx context.Context, dir string, s *setting) (err error) {
	at, form := filepath.Join(dir, s.name), "standard@"+b.provider
	var runners []*runner
	defer func() {
		for _, r := range runners {
			err = errors.Join(err, r.process.close())
		}
	}()
	memory := map[string]float64{}
	add := func(name string, start func() (*peer, error)) error {
		before, err := b.deviceMemory(ctx)
		if err != nil {
			return err
		}
		p, err := start()
		if p == nil || err != nil {
			return err
		}
		r := &runner{name: name, process: p}
		if _, err := r.step(); err != nil { // so that all memory is taken
			return errors.Join(err, p.close())
		}
		runners = append(runners, r)
		after, err := b.deviceMemory(ctx)
		memory[name] = after - before
		return err
	}
	var failed error
	for _, side := range []struct {
		name  string
		start func() (*peer, error)
	}{
		{"mdmhost", func() (*peer, error) { return startStepper(ctx, at, 1, form, "") }},
		{"eager", func() (*peer, error) { return b.startTorch(dir, "torch_step.py", at, "1", b.provider) }},
		{"compiled", func() (*peer, error) { return b.startTorch(dir, "torch_step.py", at, "1", b.provider, b.backend()) }},
	} {
		if err := add(side.name, side.start); err != nil && side.name == "mdmhost" {
			return fmt.Errorf("%s: %w", side.name, err)
		} else if err != nil { // the others are measured all the same
			fmt.Printf("peer torch %s failed\n# %v\n", side.name, err)
			failed = errors.Join(failed, err)
		}
	}
	var subjects []subject
	var names []string
	for _, r := range runners {
		subjects, names = append(subjects, subject{r.name, r.step}), append(names, r.name)
	}
	ms, err := interleave(b.budget, 7, 60, subjects...)
	if err != nil {
		return err
	}
	if err := agree(runners); err != nil {
		return err
	}
	fmt.Printf("# step %s, %s: %d rounds; ms and MiB of the device:", s.name, s, len(ms[0]))
	for i, name := range names {
		fmt.Printf(" %s %.2f ms %.0f", name, median(ms[i]), memory[name])
	}
	fmt.Println()
	if err := b.reportOnDevice("step", s.name, "<=1.0", names, func(i, k int) float64 { return paired(ms[i], ms[k]) }); err != nil {
		return err
	}
	profile, err := profileSteps(ctx, at, 1, form)
	if err != nil {
		return err
	}
	if b.profile {
		profile.print(os.Stdout)
	}
	fmt.Printf("# step %s: nodes by provider %v; on the CPU:", s.name, profile.places)
	for _, op := range slices.Sorted(maps.Keys(profile.onCPU)) {
		fmt.Printf(" %s (%d)", op, profile.onCPU[op])
	}
	fmt.Println()
	return failed
}
