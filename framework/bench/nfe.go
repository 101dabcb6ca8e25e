package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sizes are those of every comparison: the forward passes of one measurement are few, so that turns are short, and more
// where they are quick, so that the start of a run weighs as little as it does for users.
func sizes(threads int) []size {
	return []size{{1, 64, threads, 48}, {8, 64, threads, 12}, {1, 256, threads, 24}, {8, 256, threads, 5}}
}

// nfe compares milliseconds per forward pass, statistics, planner call and canvas included.
func (b bench) nfe(ctx context.Context) (err error) {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	network := filepath.Join(b.model, "onnx", "model.onnx")
	python, err := startPeer(b.python, filepath.Join(dir, "peers", "ort_loop.py"), network)
	if err != nil {
		return fmt.Errorf("%w; `just peers` makes the environment, or set MDMHOST_PEERS", err)
	}
	defer func() { err = errors.Join(err, python.close()) }()
	fmt.Println("#", python.name)
	torch, err := b.startTorch(dir, "torch_loop.py", network)
	if err != nil {
		return err
	}
	if torch != nil {
		fmt.Println("#", torch.name)
		defer func() { err = errors.Join(err, torch.close()) }()
	}
	for _, threads := range []int{1, 2} {
		if err := b.compareAll(ctx, threads, python, torch); err != nil {
			return err
		}
	}
	return nil
}

// compareAll measures every size with a number of threads.
func (b bench) compareAll(ctx context.Context, threads int, python, torch *peer) (err error) {
	ours, err := b.open(ctx, threads, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	for _, s := range sizes(threads) {
		if err := errors.Join(b.compare(ctx, s, ours, python, torch), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// compare measures one size. ONNX Runtime's threads wait for each other as they do in mdmhost, on both sides; where there are several, figures of
// its own default, which spins for milliseconds, stand beside.
func (b bench) compare(ctx context.Context, s size, ours *loop, python, torch *peer) error {
	of := func(p *peer, what string) subject {
		return subject{what, func() (float64, error) { return p.measure(what, s) }}
	}
	subjects := []subject{{"mdmhost", func() (float64, error) { return ours.measure(ctx, s) }}, of(python, "loop"), of(python, "bare")}
	if s.Threads > 1 {
		subjects = append(subjects, of(python, "spinning"))
	}
	if torch != nil {
		subjects = append(subjects, of(torch, "loop"))
	}
	ms, err := interleave(b.budget, 5, 40, subjects...)
	if err != nil {
		return err
	}
	fmt.Printf("# %s: %d rounds, ms per NFE:", s, len(ms[0]))
	for i := range subjects {
		fmt.Printf(" %s %.2f", subjects[i].name, median(ms[i]))
	}
	fmt.Println()
	lines := []error{
		report(os.Stdout, "nfe_vs_python_ort_"+s.String(), paired(ms[0], ms[1]), "<=1.05"),
		report(os.Stdout, "nfe_vs_python_ort_bare_"+s.String(), paired(ms[0], ms[2]), ""),
	}
	if torch != nil {
		lines = append(lines, report(os.Stdout, "nfe_vs_torch_"+s.String(), paired(ms[0], ms[len(ms)-1]), "<=0.55"))
	}
	if s.Threads > 1 {
		lines = append(lines, report(os.Stdout, "nfe_vs_python_ort_spinning_"+s.String(), paired(ms[0], ms[3]), ""))
	}
	return errors.Join(lines...)
}
