package checkpoint

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// faulty fails its n-th operation from the left on, each write half-way.
type faulty struct {
	realDisk
	left *int
}

func (d faulty) fails() error {
	if *d.left--; *d.left < 0 {
		return syscall.ENOSPC
	}
	return nil
}

func (d faulty) Mkdir(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.realDisk.Mkdir(path)
}

func (d faulty) Create(path string) (file, error) {
	if err := d.fails(); err != nil {
		return nil, err
	}
	f, err := d.realDisk.Create(path)
	return faultyFile{f, d}, err
}

func (d faulty) Rename(from, to string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.realDisk.Rename(from, to)
}

func (d faulty) SyncDir(path string) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.realDisk.SyncDir(path)
}

type faultyFile struct {
	file
	disk faulty
}

func (f faultyFile) Write(b []byte) (int, error) {
	if err := f.disk.fails(); err != nil {
		n, _ := f.file.Write(b[:len(b)/2])
		return n, err
	}
	return f.file.Write(b)
}

func (f faultyFile) Sync() error {
	if err := f.disk.fails(); err != nil {
		return err
	}
	return f.file.Sync()
}

// Whichever operation finds the disk full, the newest checkpoint is the one before or the new one, whole; a save with
// room again succeeds and leaves nothing behind.
func TestEveryOperationFindsTheDiskFull(t *testing.T) {
	for _, step := range []int64{2, 3} { // replaced, new
		for n := 0; ; n++ {
			run := t.TempDir()
			save(t, mustOpenAndClose(t, run), 1, 2)
			left := 1 << 20
			s, err := open(run, 2, faulty{left: &left})
			if err != nil {
				t.Fatal(err)
			}
			left = n
			err = s.Save(manifest(step), tensors(step))
			if err == nil {
				if n < 15 {
					t.Fatalf("only %d operations were tried", n)
				}
				_ = s.Close()
				break
			}
			if !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), "no space left on device; the checkpoints before it are kept: make room and run the same command again to go on") {
				t.Fatalf("operation %d: %v", n, err)
			}
			c, skipped, err := s.Latest()
			if err != nil || skipped != nil {
				t.Fatalf("operation %d: %v, skipped %v", n, err, skipped)
			}
			same(t, c, c.Manifest.Step)
			if c.Manifest.Step != 2 && c.Manifest.Step != step {
				t.Fatalf("operation %d: found step %d", n, c.Manifest.Step)
			}
			left = 1 << 20
			save(t, s, step)
			if diff := cmp.Diff(map[int64][]string{2: {"step-1", "step-2"}, 3: {"step-1", "step-2", "step-3"}}[step], names(t, run)); diff != "" {
				t.Fatalf("operation %d: %s", n, diff)
			}
			_ = s.Close()
		}
	}
}

// mustOpenAndClose returns a store that writes without holding the run's lock.
func mustOpenAndClose(t *testing.T, run string) *Store {
	s := mustOpen(t, run, 2)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// The same on a real file system of 64 KiB, where the tests may mount one.
func TestFullTmpfs(t *testing.T) {
	run := t.TempDir()
	if err := syscall.Mount("tmpfs", run, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root (%v); TestEveryOperationFindsTheDiskFull covers the same", err)
	}
	defer func() {
		if err := syscall.Unmount(run, 0); err != nil {
			t.Error(err)
		}
	}()
	s, err := Open(run, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	save(t, s, 1)
	large := tensors(2)
	large.Optimizer = append(large.Optimizer, safetensors.Of("large", []int64{1 << 17}, make([]uint8, 1<<17)))
	if err := s.Save(manifest(2), large); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"step-1"}, names(t, run)); diff != "" {
		t.Error(diff)
	}
	save(t, s, 2)
	c, skipped, err := s.Latest()
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	same(t, c, 2)
}
