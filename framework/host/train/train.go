// Package train turns a configuration into a training run: it opens data and tokenizer, makes or loads the network, asks the
// trainer plugin for its graphs, composes the artifacts, runs the steps, and writes the finished model.
//
// A run directory holds
//
//	artifacts/      the graphs of the run with their manifest
//	checkpoints/    the newest states and the best one
//	config.yaml     the settings that the run was begun with
//	data.sha256     the files of its data
//	log             what the run said, with times
//	metrics.jsonl   the course of the loss
//	curve.png       the same as a picture
//	model/          the finished model directory
package train

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/mdmhost/mdmhost/framework/host"
	"github.com/mdmhost/mdmhost/framework/host/backend"
	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/training"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
	"github.com/mdmhost/mdmhost/framework/training/checkpoint"
	"github.com/mdmhost/mdmhost/framework/training/data"
	"github.com/mdmhost/mdmhost/framework/training/progress"
	"github.com/mdmhost/mdmhost/framework/training/spec"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// Names in a run directory.
const (
	ArtifactsDir = "artifacts"
	MetricsFile  = "metrics.jsonl"
	CurveFile    = "curve.png"
	ConfigFile   = "config.yaml"
	LogFile      = "log"
	ModelDir     = "model"
)

// Streams is where a run talks to: progress and summary.
type Streams struct {
	Err      io.Writer
	Terminal bool // Err is one
}

// session is a run being set up.
type session struct {
	cfg      *config.Config
	out      Streams
	data     *data.Data
	denoiser *denoiser
	trainer  *trainer
	others   map[string]*denoiser // networks of the trainer besides the denoiser that are no copies of it
	set      *artifact.Set
	device   *onnx.Device
	store    *checkpoint.Store
	seed     uint64
	begun    bool // earlier, with a checkpoint to go on from
	names    training.Names
	log      *journal // nil until something is written
	progress *progress.Progress
}

// Run trains as cfg says, in a new run directory or in one that goes on. A run that ctx ends is saved, and Run returns ctx's
// error.
func Run(ctx context.Context, cfg *config.Config, o host.Options, out Streams) (err error) {
	s := &session{cfg: cfg, out: out}
	if err := s.check(); err != nil {
		return err
	}
	defer func() {
		s.log.error(err)
		err = errors.Join(err, s.close())
	}()
	if s.store, err = checkpoint.Claim(cfg.Train.Run, cfg.Train.Keep); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	if err := s.prepare(ctx, o); err != nil {
		return err
	}
	if err := s.settleArtifacts(); err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	return s.train(ctx)
}

// check refuses what no run can do before anything is touched.
func (s *session) check() error {
	var problems config.Problems
	if s.cfg.Train.Run == "" {
		problems = append(problems, config.Problem{Origin: s.cfg.Origin("train.run"), Key: "train.run", Text: "is empty, expected the directory of the run; give it with --run DIR"})
	} else if text := noRun(s.cfg.Train.Run); text != "" {
		problems = append(problems, config.Problem{Origin: s.cfg.Origin("train.run"), Key: "train.run", Text: text})
	}
	var wrong data.Problems
	if err := s.cfg.Data.Validate(); errors.As(err, &wrong) {
		for _, p := range wrong {
			problems = append(problems, config.Problem{Origin: s.cfg.Origin(p.Key), Key: p.Key, Text: p.Text})
		}
	} else if err != nil {
		return err
	}
	if problems != nil {
		return problems
	}
	return nil
}

// noRun says why a directory cannot become that of a run, or nothing.
func noRun(dir string) string {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return dir + " is a file, expected the directory of the run; name another"
	}
	for _, name := range []string{"config.json", "mdm.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir + " is a model directory, expected that of a run; name another, and begin with the model by --from"
		}
	}
	return ""
}

// checkPatience refuses patience that nothing can exhaust.
func (s *session) checkPatience() error {
	lacks := ""
	switch {
	case s.cfg.Train.Patience == 0:
	case s.data.Valid == nil:
		lacks = "there is no validation data; give data.valid or data.valid_fraction"
	case s.cfg.Train.EvalEvery == 0:
		lacks = "the only evaluation is that at the end; set train.eval_every"
	}
	if lacks == "" {
		return nil
	}
	return config.Problems{{Origin: s.cfg.Origin("train.patience"), Key: "train.patience", Text: fmt.Sprintf("is %d evaluations without a better one, and %s, or leave it out", s.cfg.Train.Patience, lacks)}}
}

// prepare opens and composes all parts. It writes nothing.
func (s *session) prepare(ctx context.Context, o host.Options) error {
	from, err := source(s.cfg)
	if err != nil {
		return err
	}
	if from != nil {
		if s.denoiser, err = loadDenoiser(from); err != nil {
			return err
		}
		if s.trainer, err = ask(ctx, s.cfg, o, s.denoiser); err != nil {
			return err
		}
		if err := s.inherit(from); err != nil {
			return err
		}
	}
	if err := s.openData(ctx, from); err != nil {
		return ofModel(from, err)
	}
	if err := s.checkPatience(); err != nil {
		return err
	}
	if from != nil {
		err = s.denoiser.fits(s.cfg, s.data)
	} else if s.denoiser, err = newDenoiser(s.cfg, s.data, s.seed); err == nil {
		s.trainer, err = ask(ctx, s.cfg, o, s.denoiser)
	}
	if err != nil {
		return err
	}
	if name, _ := s.product(); name != spec.Denoiser && from == nil {
		return config.Problems{{Origin: s.cfg.Origin("train.from"), Key: "train.from", Text: fmt.Sprintf("is empty, and trainer %s leaves the denoiser as it is; name the model that it plans for with --from", s.trainer.description.Name)}}
	}
	length := s.data.Train.Length()
	if s.others, err = others(s.cfg, s.denoiser, s.trainer, length, s.seed); err != nil {
		return err
	}
	if s.set, err = compose(s.cfg, s.denoiser, s.others, s.trainer, length); err != nil {
		return err
	}
	s.device, err = openDevice(ctx, s.cfg)
	return err
}

// settleArtifacts holds the artifacts against those that the run was begun with.
func (s *session) settleArtifacts() error {
	digests, err := s.set.Digests()
	if err != nil {
		return err
	}
	s.names = training.Names{Config: s.digest(), Artifacts: digests, Digests: map[string]string{"trainer": s.trainer.digest}}
	if from := s.denoiser.model; from != nil {
		if s.names.Digests["model"], err = from.Digest(); err != nil {
			return err
		}
	}
	c, _, err := s.store.Latest()
	if errors.Is(err, checkpoint.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Match(s.names.Config, s.names.Artifacts); err != nil {
		return fmt.Errorf("run %s: trainer %s %s, or this version of mdmhost, is another than the run was begun with: %w", s.cfg.Train.Run, s.trainer.description.Name, s.trainer.description.Version, err)
	}
	return nil
}

// open writes what a run begins with. Nothing was written before.
func (s *session) open() (err error) {
	if err := s.store.Begin(); err != nil {
		return err
	}
	run := s.cfg.Train.Run
	if s.log, err = openJournal(filepath.Join(run, LogFile)); err != nil {
		return err
	}
	if err := s.writeSettings(); err != nil {
		return err
	}
	return s.set.Save(filepath.Join(run, ArtifactsDir))
}

// openDevice opens the runtime that the configuration names.
func openDevice(ctx context.Context, cfg *config.Config) (*onnx.Device, error) {
	if err := backend.Local(cfg, "training"); err != nil {
		return nil, err
	}
	options := backend.ONNX(cfg.Runtime)
	if !cfg.Train.Kernels {
		options.Kernels = onnx.KernelsStandard
	}
	return onnx.OpenDevice(ctx, options)
}

// train runs the steps and writes what comes of them.
func (s *session) train(ctx context.Context) error {
	cfg, run := s.cfg, s.cfg.Train.Run
	initial, err := s.initial()
	if err != nil {
		return err
	}
	frozen, err := begin(s.set.Manifest.Frozen, &s.trainer.reply.Spec, s.denoiser, s.others, s.seed)
	if err != nil {
		return err
	}
	for _, note := range s.notes() {
		s.say("note      " + note)
	}
	summary, err := training.Train(ctx, training.Options{
		Seed: s.seed, Steps: cfg.Train.Steps, Accumulate: cfg.Train.Accumulate,
		Rate: training.Rate{Kind: cfg.Optimizer.Schedule, Peak: cfg.Optimizer.LR, Floor: cfg.Optimizer.MinLR, Warmup: cfg.Optimizer.Warmup},
		Clip: cfg.Optimizer.Clip, EMA: cfg.Optimizer.EMA, EvalEvery: cfg.Train.EvalEvery, EvalRows: cfg.Train.EvalRows, Patience: cfg.Train.Patience,
		CheckpointEvery: cfg.Train.CheckpointEvery, LogEvery: cfg.Train.LogEvery, Budget: time.Duration(cfg.Train.Minutes * float64(time.Minute)), Shuffle: cfg.Data.Shuffle,
	}, training.Parts{
		Device: s.device, Set: s.set, Train: s.data.Train, Valid: s.data.Valid, Initial: initial, Frozen: frozen, Store: s.store,
		Names:   s.names,
		Metrics: filepath.Join(run, MetricsFile), Observe: s.observe,
	})
	if s.progress != nil {
		err = errors.Join(err, s.progress.Close())
	}
	if summary == nil {
		return err
	}
	var diverged *training.Diverged
	switch {
	case errors.As(err, &diverged):
		err = s.rescue(diverged, err)
	case err == nil && summary.End != training.Cancelled:
		err = s.finish(summary)
	}
	return errors.Join(err, s.report(summary), ctx.Err())
}

// observe shows the progress of a session that begins after so many steps.
func (s *session) observe(from int64, best *checkpoint.Best) training.Observer {
	var value *float64
	if best != nil {
		bits := best.Value / math.Ln2
		value = &bits
	}
	s.progress = progress.New(s.out.Err, s.out.Terminal, s.cfg.Train.Steps, from, value)
	s.progress.Keep(s.log)
	return s.progress
}

func (s *session) initial() (*training.State, error) {
	params, err := begin(s.set.Manifest.Parameters, &s.trainer.reply.Spec, s.denoiser, s.others, s.seed)
	if err != nil {
		return nil, err
	}
	n := len(params)
	return &training.State{Params: params, M: make([]float32, n), V: make([]float32, n)}, nil
}

func (s *session) close() error {
	var errs []error
	if s.device != nil {
		errs = append(errs, s.device.Close())
	}
	if s.data != nil {
		errs = append(errs, s.data.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.file.Close())
	}
	return errors.Join(errs...)
}

// drawSeed is a seed that every JSON reader keeps whole.
func drawSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) >> 11, nil
}
