package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// Store writes the checkpoints of one run. It is used by one goroutine at a time.
type Store struct {
	run     string
	keep    int
	disk    disk
	lock    *flock.Flock
	damaged map[int64]bool // found by Latest
}

// Open is [Claim] and [Store.Begin].
func Open(run string, keep int) (*Store, error) { return open(run, keep, realDisk{}) }

func open(run string, keep int, d disk) (*Store, error) {
	s, err := claim(run, keep, d)
	if err != nil {
		return nil, err
	}
	if err := s.Begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Claim takes a run directory for this process and changes nothing in it; one that no run was begun in yet is only taken by
// [Store.Begin]. keep is how many of the newest checkpoints stay, besides the best one; 0 keeps all. The error is a [Busy] where
// another process works in the directory. Close frees it.
func Claim(run string, keep int) (*Store, error) { return claim(run, keep, realDisk{}) }

func claim(run string, keep int, d disk) (*Store, error) {
	s := &Store{run: run, keep: keep, disk: d, damaged: map[int64]bool{}}
	_, none := os.Lstat(lockPath(run))
	all, err := steps(run)
	if err != nil || none != nil && len(all) == 0 {
		return s, err
	}
	s.lock, err = lock(run)
	return s, err
}

// Begin makes the directory ready to be written: it makes it where it is missing, says who works in it, and removes what a killed
// run left half written.
func (s *Store) Begin() error {
	if err := os.MkdirAll(stepsDir(s.run), 0o755); err != nil {
		return fmt.Errorf("run %s: %w", s.run, err)
	}
	if s.lock == nil {
		l, err := lock(s.run)
		if err != nil {
			return err
		}
		s.lock = l
		if all, err := steps(s.run); err != nil || len(all) > 0 {
			return errors.Join(fmt.Errorf("run %s: another process began it just now; the same command goes on with it", s.run), err)
		}
	}
	if err := errors.Join(sign(s.run), s.tidy(), s.disk.SyncDir(s.run)); err != nil {
		return fmt.Errorf("run %s: %w", s.run, err)
	}
	return nil
}

// Close frees the run directory for others.
func (s *Store) Close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Unlock()
}

// At returns the checkpoint of a step.
func (s *Store) At(step int64) (*Checkpoint, error) { return Read(stepDir(s.run, step)) }

// Before returns the newest checkpoint of the steps before one, and [ErrNone] where there is none.
func (s *Store) Before(step int64) (*Checkpoint, error) {
	c, _, err := before(s.run, step)
	return c, err
}

// Latest is [Latest] of the run.
func (s *Store) Latest() (c *Checkpoint, skipped []error, err error) {
	c, skipped, err = Latest(s.run)
	if c != nil {
		all, err := steps(s.run)
		if err != nil {
			return nil, skipped, err
		}
		for _, step := range all {
			s.damaged[step] = step > c.Manifest.Step
		}
	}
	return c, skipped, err
}

// Save writes a checkpoint of m.Step, replaces one of the same step, and removes the ones that need not be kept. When it
// fails, the checkpoints before it are as they were.
func (s *Store) Save(m Manifest, tensors Tensors) error {
	dir := stepDir(s.run, m.Step)
	part := dir + ".part"
	if err := s.write(part, m, tensors); err != nil {
		_ = os.RemoveAll(part) // else the next start does
		return s.failed(dir, err)
	}
	if err := s.replace(part, dir); err != nil {
		return s.failed(dir, err)
	}
	delete(s.damaged, m.Step)
	if err := s.prune(m); err != nil {
		return fmt.Errorf("checkpoint %s: is written, but an older one cannot be removed: %w", dir, err)
	}
	return nil
}

func (s *Store) failed(dir string, err error) error {
	err = fmt.Errorf("checkpoint %s: %w; the checkpoints before it are kept", dir, err)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: make room and run the same command again to go on", err)
	}
	return err
}

// write puts the whole checkpoint into the new directory dir and onto the disk.
func (s *Store) write(dir string, m Manifest, tensors Tensors) error {
	if err := errors.Join(os.RemoveAll(dir), s.disk.Mkdir(dir)); err != nil {
		return err
	}
	m.Files = nil
	for _, part := range []struct {
		name    string
		tensors []safetensors.Tensor
	}{{ModelFile, tensors.Model}, {EMAFile, tensors.EMA}, {OptimizerFile, tensors.Optimizer}} {
		if part.tensors == nil && part.name != ModelFile {
			continue
		}
		f, err := s.create(filepath.Join(dir, part.name), func(w io.Writer) error {
			// Readers of Hugging Face's libraries ask for a format, and "pt" is what all of them take.
			return safetensors.Encode(w, part.tensors, map[string]string{"format": "pt"})
		})
		if err != nil {
			return err
		}
		m.Files = append(m.Files, f)
	}
	text, err := m.encode()
	if err != nil {
		return err
	}
	if _, err := s.create(filepath.Join(dir, manifestName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}); err != nil {
		return err
	}
	return s.disk.SyncDir(dir)
}

// create writes one file onto the disk and returns its digest.
func (s *Store) create(path string, content func(io.Writer) error) (File, error) {
	f, err := s.disk.Create(path)
	if err != nil {
		return File{}, err
	}
	h := sha256.New()
	counted := &counter{w: io.MultiWriter(f, h)}
	err = content(counted)
	if err == nil {
		err = f.Sync()
	}
	return File{filepath.Base(path), counted.n, hex.EncodeToString(h.Sum(nil))}, errors.Join(err, f.Close())
}

// replace moves a whole checkpoint into place. One that stands there is moved aside first; a run that is killed between
// the two finds it again ([Store.tidy]).
func (s *Store) replace(part, dir string) error {
	aside := dir + asideSuffix
	_, err := os.Lstat(dir)
	stood := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if stood {
		if err := errors.Join(os.RemoveAll(aside), s.disk.Rename(dir, aside)); err != nil {
			return err
		}
	}
	if err := s.disk.Rename(part, dir); err != nil {
		if stood {
			err = errors.Join(err, os.Rename(aside, dir))
		}
		return err
	}
	if err := s.disk.SyncDir(stepsDir(s.run)); err != nil {
		return err
	}
	return os.RemoveAll(aside)
}

// counter counts the bytes on their way to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
