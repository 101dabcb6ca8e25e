package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mdmhost/mdmhost/framework/autodiff"
	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// forms of our step: stock operators alone, fused kernels, and these with attention that is computed again in the backward pass.
var forms = []string{"standard", "kernels", "recompute"}

// A form may name a provider, as in standard@cuda; without one it runs on the CPU.
func optionsOf(form string) (autodiff.Options, string) {
	if form, _, _ = strings.Cut(form, "@"); form == "standard" {
		return autodiff.Options{}, onnx.KernelsStandard
	}
	return autodiff.Options{Kernels: true, Recompute: form == "recompute"}, onnx.KernelsFused
}

// stepperArgument makes this program the process that takes steps: stepper DIR THREADS FORM PROFILE.
const stepperArgument = "stepper"

// startStepper starts a process of ours that takes steps; profile is the start of the path of ONNX Runtime's profile, or "".
func startStepper(ctx context.Context, dir string, threads int, form, profile string) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return startProcess(exec.CommandContext(ctx, self, stepperArgument, dir, strconv.Itoa(threads), form, profile))
}

// serveSteps takes a step for every line of the standard input.
func serveSteps(ctx context.Context, dir string, threads int, form, profile string) (err error) {
	way, kernels := optionsOf(form)
	_, provider, _ := strings.Cut(form, "@")
	device, err := onnx.OpenDevice(ctx, onnx.Options{Provider: provider, Threads: threads, Profile: profile, Kernels: kernels})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	before := resident("VmRSS:")
	// The peak that loading the libraries took is forgotten. Where that cannot be done, it counts.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	s, err := openStepper(ctx, device, dir, way)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"peer": "mdmhost " + form}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		start, cpu := time.Now(), processors()
		if err := s.step(ctx); err != nil {
			return err
		}
		ms := time.Since(start).Seconds() * 1e3
		if err := out.Encode(map[string]float64{"ms": ms, "cpu": processors() - cpu, "loss": float64(s.loss[0]), "peak": resident("VmHWM:") - before}); err != nil {
			return err
		}
	}
	return nil
}

// stepper is the program of a step with everything that it reads.
type stepper struct {
	program *onnx.Program
	feed    *onnx.Feed
	scalars []float32
	loss    []float32
	done    int64
}

func openStepper(ctx context.Context, device *onnx.Device, dir string, way autodiff.Options) (*stepper, error) {
	text, err := os.ReadFile(filepath.Join(dir, "setting.json"))
	if err != nil {
		return nil, err
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	s := &setting{network: d.Network, order: d.Order, rows: d.Rows, length: d.Length, mask: d.Mask, suppressed: d.Suppressed, options: d.Options}
	set, err := s.compose(way)
	if err != nil {
		return nil, err
	}
	model, err := set.Step()
	if err != nil {
		return nil, err
	}
	o := onnx.ProgramOptions{Outputs: []string{spec.Loss, artifact.GradNorm}}
	for _, name := range []string{artifact.Params, artifact.Moment1, artifact.Moment2} {
		state, err := device.NewState(name, graph.Float32, set.Manifest.Size())
		if err != nil {
			return nil, err
		}
		o.States = append(o.States, onnx.StateBinding{Input: name, Output: artifact.Next + name, State: state})
	}
	params := make([]float32, set.Manifest.Size())
	if err := errors.Join(read(dir, "params.f32", params), o.States[0].State.WriteFloats(params)); err != nil {
		return nil, err
	}
	out := &stepper{}
	if out.program, err = device.NewProgram(ctx, onnx.Model{Name: "step", Data: model.Encode()}, o); err != nil {
		return nil, err
	}
	if out.feed, err = out.program.NewFeed(); err != nil {
		return nil, err
	}
	return out, errors.Join(out.fill(dir, s), out.find())
}

// fill writes batch and noise into the feed, once.
func (s *stepper) fill(dir string, of *setting) error {
	tokens, err1 := s.feed.Int64("tokens")
	free, err2 := s.feed.Bool("free")
	lengths := make([]int64, of.rows)
	errs := []error{err1, err2, read(dir, "tokens.i64", tokens), read(dir, "lengths.i64", lengths)}
	noise := []string{"time", "u"}
	var real []int64
	if of.order != nil {
		noise = []string{"time", "q_in_pair", "q_um_pair"}
		mask, err := s.feed.Int64("attention_mask")
		real, errs = mask, append(errs, err)
	}
	for b, n := range lengths {
		for i := range of.length {
			at, last := b*of.length+i, 0
			if real != nil {
				if real[at], last = 0, 1; int64(i) < n {
					real[at] = 1
				}
			}
			free[at] = int64(i+last) < n // the end of a row that grows is fixed
		}
	}
	for _, name := range noise {
		x, err := s.feed.Float32(name)
		errs = append(errs, err, read(dir, name+".f32", x))
	}
	return errors.Join(errs...)
}

// find looks up what changes from step to step.
func (s *stepper) find() (err error) {
	if s.scalars, err = s.feed.Float32(artifact.Scalars); err != nil {
		return err
	}
	s.loss, err = s.program.Output(spec.Loss)
	return err
}

func (s *stepper) step(ctx context.Context) error {
	s.done++
	left := [2]float64{1, 1}
	for range s.done {
		left[0], left[1] = left[0]*adam.Beta1, left[1]*adam.Beta2
	}
	s.scalars[artifact.ScalarRate], s.scalars[artifact.ScalarClip], s.scalars[artifact.ScalarScale] = rate, clip, 1
	s.scalars[artifact.ScalarBias1], s.scalars[artifact.ScalarBias2] = float32(1-left[0]), float32(1-left[1])
	return s.program.Run(ctx, s.feed)
}

// read reads numbers from a file that holds exactly so many.
func read(dir, name string, into any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if want := binary.Size(into); len(raw) != want {
		return fmt.Errorf("%s: %d bytes, expected %d", name, len(raw), want)
	}
	return binary.Read(bytes.NewReader(raw), binary.LittleEndian, into)
}

// processors is the processor time of this process, in milliseconds.
func processors() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// resident reads a figure of /proc/self/status in MiB; 0 where there is none.
func resident(key string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), key)
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseFloat(kib, 64)
	if err != nil {
		return 0
	}
	return n / 1024
}
