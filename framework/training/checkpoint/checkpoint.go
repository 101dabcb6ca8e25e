// Package checkpoint keeps the state of a training run on disk, so that a run killed at any moment goes on as if nothing
// had happened.
//
// A run directory holds
//
//	checkpoints/step-N/model.safetensors      parameters under their names: usable as a model's file
//	checkpoints/step-N/ema.safetensors        their moving average, the same names; where there is one
//	checkpoints/step-N/optimizer.safetensors  the optimiser's state, as a rule the flat vectors adam.m and adam.v in the order of the parameters
//	checkpoints/step-N/manifest.json          [Manifest]
//	lock                                      who works in the directory
//
// N counts the optimiser steps done, in plain decimal without zeros before it. A checkpoint appears whole or not at all:
// it is written as checkpoints/step-N.part, brought onto the disk, and renamed.
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// The files of a checkpoint.
const (
	ModelFile     = "model.safetensors"
	EMAFile       = "ema.safetensors"
	OptimizerFile = "optimizer.safetensors"
)

// Tensors is the state of a run. Elements are written bit by bit.
type Tensors struct {
	Model     []safetensors.Tensor
	EMA       []safetensors.Tensor // nil without a moving average
	Optimizer []safetensors.Tensor // nil without state
}

// Checkpoint is one that was read and agrees with its digests.
type Checkpoint struct {
	Dir      string
	Manifest Manifest
}

// ErrNone is the error of a run directory that holds no checkpoint yet.
var ErrNone = errors.New("holds no checkpoint")

// Has tells whether the checkpoint has that file.
func (c *Checkpoint) Has(name string) bool {
	return slices.ContainsFunc(c.Manifest.Files, func(f File) bool { return f.Name == name })
}

// Open opens one of the checkpoint's files: [ModelFile], [EMAFile] or [OptimizerFile]. Close it after use.
func (c *Checkpoint) Open(name string) (*safetensors.File, error) {
	if !c.Has(name) {
		return nil, fmt.Errorf("checkpoint %s: has no %s; the run was begun without it", c.Dir, name)
	}
	return safetensors.Open(filepath.Join(c.Dir, name))
}

// Read reads one checkpoint, DIR/checkpoints/step-N, and compares every file with its digest.
func Read(dir string) (*Checkpoint, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	if step, ok := stepOf(filepath.Base(dir)); ok && step != m.Step {
		return nil, fmt.Errorf("checkpoint %s: %s is that of step %d", dir, manifestName, m.Step)
	}
	for _, want := range m.Files {
		got, err := hash(filepath.Join(dir, want.Name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
		case got.Bytes != want.Bytes:
			return nil, fmt.Errorf("checkpoint %s: %s has %d bytes, expected %d", dir, want.Name, got.Bytes, want.Bytes)
		case got.SHA256 != want.SHA256:
			return nil, fmt.Errorf("checkpoint %s: %s was changed or damaged: its sha256 is %s, expected %s", dir, want.Name, got.SHA256, want.SHA256)
		}
	}
	return &Checkpoint{dir, m}, nil
}

func hash(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	h := sha256.New()
	n, err := io.Copy(h, f)
	return File{filepath.Base(path), n, hex.EncodeToString(h.Sum(nil))}, err
}

// Latest returns the newest checkpoint of a run directory that agrees with its digests. Newer ones that are damaged are
// left out; skipped says which and why, to be shown as warnings. Without any checkpoint the error is [ErrNone]. It takes
// no lock: a run that works in the directory is not disturbed.
func Latest(run string) (c *Checkpoint, skipped []error, err error) {
	return before(run, math.MaxInt64)
}

// before is [Latest] of the checkpoints of smaller steps than the given one.
func before(run string, limit int64) (c *Checkpoint, skipped []error, err error) {
	all, err := steps(run)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(s int64) bool { return s >= limit })
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("run %s: %w; start the run anew", run, ErrNone)
	}
	for _, step := range slices.Backward(all) {
		c, err := Read(stepDir(run, step))
		if err == nil {
			return c, skipped, nil
		}
		if _, gone := os.Lstat(stepDir(run, step)); errors.Is(gone, fs.ErrNotExist) {
			return before(run, limit) // the run removed it just now, and has a newer one
		}
		if !damaged(err) {
			return nil, skipped, err
		}
		skipped = append(skipped, fmt.Errorf("%w; it is left out", err))
	}
	return nil, skipped, fmt.Errorf("run %s: all %d checkpoints are damaged (the newest: %w); copy one from a backup, or start a run in another directory", run, len(all), errors.Unwrap(skipped[0]))
}

func stepsDir(run string) string { return filepath.Join(run, "checkpoints") }

func stepDir(run string, step int64) string {
	return filepath.Join(stepsDir(run), "step-"+strconv.FormatInt(step, 10))
}

// stepOf reads "step-N".
func stepOf(name string) (step int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "step-")
	if !ok {
		return 0, false
	}
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, err == nil && strconv.FormatInt(step, 10) == digits && step >= 0
}

// steps lists the checkpoints of a run, oldest first.
func steps(run string) ([]int64, error) {
	entries, err := os.ReadDir(stepsDir(run))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []int64
	for _, e := range entries {
		if step, ok := stepOf(e.Name()); ok {
			out = append(out, step)
		}
	}
	slices.Sort(out)
	return out, nil
}
