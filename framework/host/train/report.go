package train

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/progress"
	"github.com/mdmhost/mdmhost/framework/training/record"
	"github.com/mdmhost/mdmhost/framework/training/record/curve"
)

// notes are what there is to know before the first step.
func (s *session) notes() []string {
	out := s.data.Notes()
	if o := s.cfg.Optimizer; o.Warmup > s.cfg.Train.Steps {
		out = append(out, fmt.Sprintf("optimizer.warmup is %d and the run has %d steps: the learning rate rises to the end and does not reach optimizer.lr", o.Warmup, s.cfg.Train.Steps))
	}
	if stored := s.denoiser.rounded(); stored != "" {
		out = append(out, fmt.Sprintf("the parameters of %s are %s; they are trained in float32, and the new model has train.precision, %s", s.denoiser.model.Name, stored, s.cfg.Train.Precision))
	}
	return out
}

// say prints a line before the first step.
func (s *session) say(line string) {
	_, _ = fmt.Fprintln(io.MultiWriter(s.out.Err, s.log), line) // a screen that went away stops no run
}

// report draws the curve and prints the summary.
func (s *session) report(sum *training.Summary) error {
	run := s.cfg.Train.Run
	_, made := s.product()
	lines, err := record.Read(filepath.Join(run, MetricsFile))
	if err == nil && slices.ContainsFunc(lines, func(l record.Line) bool { return !math.IsNaN(l.BitsPerToken) }) {
		err = curve.WriteFile(filepath.Join(run, CurveFile), lines, curve.Options{Title: s.name() + ", " + s.trainer.description.Name, Unit: "bits per token"})
	}
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	text := progress.Summary{Step: sum.Step, Steps: s.cfg.Train.Steps, From: sum.From, Stopped: s.ending(sum), Tokens: sum.SessionTokens,
		Times: progress.Times{Wall: seconds(sum.Seconds), Data: seconds(sum.Share.Data), Runtime: seconds(sum.Share.Steps), Evaluation: seconds(sum.Share.Evaluations), Checkpoint: seconds(sum.Share.Checkpoints)},
		Best:  sum.Best, Model: s.name(), Trainer: s.trainer.String(), Provider: s.provider(), Notes: slices.Concat(s.device.Notes(), verdicts(lines), speeds(lines), made.notes), Run: run, Seed: s.seed,
		Files: slices.DeleteFunc([]string{MetricsFile, CurveFile, LogFile, ModelDir}, func(name string) bool {
			_, err := os.Stat(filepath.Join(run, name))
			return err != nil
		})}
	for _, skipped := range sum.Skipped {
		text.Notes = append(text.Notes, skipped.Error())
	}
	return errors.Join(err, text.Write(io.MultiWriter(s.out.Err, s.log)))
}

// ending says why a run ended before its last step, or nothing.
func (s *session) ending(sum *training.Summary) string {
	switch sum.End {
	case training.Stopped:
		return fmt.Sprintf("no better evaluation for long enough; the model is that of step %d", sum.Best.Step)
	case training.OutOfTime:
		return "out of time; the same command goes on"
	case training.Cancelled:
		return "interrupted; the same command goes on"
	case training.Finished:
		return ""
	}
	return "failed"
}

func (s *session) provider() string { return ranOn(s.cfg, s.device.Provider()) }

// ranOn names runtime, provider and threads, such as "onnx/cpu, 2 threads".
func ranOn(cfg *config.Config, provider string) string {
	threads := cfg.Runtime.Threads
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	if threads == 1 {
		return "onnx/" + provider + ", 1 thread"
	}
	return fmt.Sprintf("onnx/%s, %d threads", provider, threads)
}

// name is the finished model's.
func (s *session) name() string {
	if s.cfg.Train.Name != "" {
		return s.cfg.Train.Name
	}
	if path, err := filepath.Abs(s.cfg.Train.Run); err == nil {
		return filepath.Base(path)
	}
	return s.cfg.Train.Run
}
