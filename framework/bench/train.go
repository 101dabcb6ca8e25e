package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// train compares one whole gradient step, forward, backward, clipping and AdamW, with the same step in PyTorch eager: the
// same network and values, the same batch and noise, which are there before the clock starts. Every side is a process of its
// own, so that processor time and memory are its own, too.
func (b bench) train(ctx context.Context) (err error) {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, s := range settings {
		if b.setting != "" && s.name != b.setting {
			continue
		}
		if err := s.write(filepath.Join(dir, s.name)); err != nil {
			return fmt.Errorf("setting %s: %w", s.name, err)
		}
		for _, threads := range []int{1, 2} {
			if err := errors.Join(b.compareSteps(ctx, dir, s, threads), ctx.Err()); err != nil {
				return fmt.Errorf("setting %s, %d threads: %w", s.name, threads, err)
			}
		}
	}
	return nil
}

// runner is one side of the comparison, with what its steps took.
type runner struct {
	name    string // of our forms, or PyTorch's
	process *peer
	cpu     []float64 // milliseconds of processor time, of all threads
	loss    []float64
	peak    float64 // MiB of memory beyond what the libraries take
}

// step takes one step and returns its milliseconds.
func (r *runner) step() (float64, error) {
	var took struct{ MS, CPU, Loss, Peak float64 }
	if err := r.process.ask(struct{}{}, &took); err != nil {
		return 0, err
	}
	r.cpu, r.loss, r.peak = append(r.cpu, took.CPU), append(r.loss, took.Loss), took.Peak
	return took.MS, nil
}

// compareSteps measures one setting with a number of threads, in turns.
func (b bench) compareSteps(ctx context.Context, dir string, s *setting, threads int) (err error) {
	at := filepath.Join(dir, s.name)
	var runners []*runner
	defer func() {
		for _, r := range runners {
			err = errors.Join(err, r.process.close())
		}
	}()
	for _, form := range forms {
		p, err := startStepper(ctx, at, threads, form, "")
		if err != nil {
			return err
		}
		runners = append(runners, &runner{name: form, process: p})
	}
	torch, err := b.startTorch(dir, "torch_step.py", at, fmt.Sprint(threads))
	if err != nil {
		return err
	}
	if torch != nil {
		runners = append(runners, &runner{name: torch.name, process: torch})
	}
	subjects := make([]subject, len(runners))
	for i, r := range runners {
		subjects[i] = subject{r.name, r.step}
	}
	ms, err := interleave(4*b.budget, 7, 60, subjects...)
	if err != nil {
		return err
	}
	if err := agree(runners); err != nil {
		return err
	}
	figures := map[string][3]float64{}
	fmt.Printf("# step %s_t%d, %s: %d rounds, load %s; ms, ms of processors, peak MiB\n", s.name, threads, s, len(ms[0]), load())
	for i, r := range runners {
		r.cpu = r.cpu[1:] // the first step warmed up
		figures[r.name] = [3]float64{median(ms[i]), median(r.cpu), r.peak}
		fmt.Printf("#   %-20s %8.1f %8.1f %6.0f\n", r.name, median(ms[i]), median(r.cpu), r.peak)
	}
	profile, err := profileSteps(ctx, at, threads, "kernels")
	if err != nil {
		return err
	}
	if b.profile {
		profile.print(os.Stdout)
	}
	return b.reportSteps(s, fmt.Sprintf("%s_t%d", s.name, threads), ms, runners, torch != nil, profile)
}

// agree refuses runners that do not compute the same: the losses of the first steps must be equal to float32.
func agree(runners []*runner) error {
	for _, r := range runners[1:] {
		for i, want := range runners[0].loss[:4] {
			if got := r.loss[i]; !(math.Abs(got-want) <= 1e-4*math.Abs(want)) {
				return fmt.Errorf("step %d: the loss of %s is %v and that of %s %v; they do not compute the same", i+1, r.name, got, runners[0].name, want)
			}
		}
	}
	return nil
}

// target of a form's steps against PyTorch's.
func (s *setting) target(form string) string {
	switch {
	case form == "recompute":
		return ""
	case s.order != nil:
		return "<=0.75"
	case form == "standard":
		return "<=0.70"
	}
	return "<=0.62"
}

// reportSteps prints the ratios. Those of kernels have the plain names.
func (b bench) reportSteps(s *setting, name string, ms [][]float64, runners []*runner, torch bool, profile *profile) error {
	last := len(runners) - 1
	var errs []error
	say := func(what string, value float64, target string) {
		errs = append(errs, report(os.Stdout, what+"_"+name, value, target))
	}
	for i, form := range forms {
		prefix := "_" + form
		if form == "kernels" {
			prefix = ""
		}
		if torch {
			say("step"+prefix+"_vs_torch", paired(ms[i], ms[last]), s.target(form))
			say("step"+prefix+"_cpu_vs_torch", paired(runners[i].cpu, runners[last].cpu), s.target(form))
			if runners[i].peak > 0 && runners[last].peak > 0 {
				say("memory"+prefix+"_vs_torch", runners[i].peak/runners[last].peak, "<=1.0")
			}
		}
	}
	say("step_kernels_vs_standard", paired(runners[1].cpu, runners[0].cpu), "")
	say("step_recompute_vs_kernels", paired(runners[2].cpu, runners[1].cpu), "")
	say("step_gemm_share", profile.products/profile.total, "")
	if torch {
		say("step_gemm_floor_vs_torch", profile.products/median(ms[last]), "")
	}
	return errors.Join(errs...)
}
