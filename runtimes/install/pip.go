package install

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// fromPip has pip fetch wheels, whatever Python it runs on. Each is a call of its own, so that what an interrupted installation has fetched
// so far lies in pip's cache.
func fromPip(ctx context.Context, wanted release, o Options) (source, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("python3 is not found (%w); install Python 3 with pip, or give the wheels with --from", err)
	}
	if out, err := exec.CommandContext(ctx, python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s has no pip (%s); install it (Debian: apt install python3-pip)", python, strings.TrimSpace(string(out)))
	}
	all, largest := wanted.fetched()
	need := wanted.installed() + 3*largest // pip writes a wheel to where it fetches it, to its cache, and to where it was asked for
	cache, err := exec.CommandContext(ctx, python, "-m", "pip", "cache", "dir").Output()
	if dir := strings.TrimSpace(string(cache)); err == nil && dir != "" { // a cache that is turned off is an error
		if sameDisk(dir, o.Dir) {
			need += all
		} else if err := room(dir, all); err != nil {
			return nil, fmt.Errorf("pip's cache: %w", err)
		}
	}
	if err := room(o.Dir, need); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(o.Progress, "fetching %s with pip, for %s of libraries\n", size(all), size(wanted.installed())); err != nil {
		return nil, err
	}
	return func(ctx context.Context, w wheel, temp string, use func(string) error) error {
		path, err := download(ctx, python, w, temp, o.Progress)
		if err != nil {
			return err
		}
		if err := w.check(ctx, path); err != nil {
			return err
		}
		return use(path)
	}, nil
}

// download fetches one wheel into the folder temp and returns its path.
func download(ctx context.Context, python string, w wheel, temp string, progress io.Writer) (string, error) {
	name, version := w.distribution()
	args := []string{"-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:",
		"--implementation", "cp", "--python-version", "3.12"}
	for _, tag := range w.platforms() {
		args = append(args, "--platform", tag)
	}
	to, scratch := filepath.Join(temp, "wheel"), filepath.Join(temp, "scratch")
	for _, dir := range []string{to, scratch} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", err
		}
	}
	said := &oneAtATime{w: progress}
	pip := exec.CommandContext(ctx, python, append(args, "--dest", to, name+"=="+version)...)
	pip.Env = append(os.Environ(), "TMPDIR="+scratch) // /tmp may be small, and what is there can be counted
	pip.Stdout, pip.Stderr = said, said
	pip.WaitDelay = time.Second // for children of a pip that was killed
	finished := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { watch(scratch, w, said, finished) })
	err := pip.Run()
	close(finished)
	watcher.Wait()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("pip download of %s %s failed: %w; its messages are above, check the network and pip's configuration", name, version, err)
	}
	wheels, _ := filepath.Glob(filepath.Join(to, "*.whl"))
	if len(wheels) != 1 {
		return "", fmt.Errorf("pip left %d wheels of %s, expected one; try again", len(wheels), name)
	}
	return wheels[0], nil
}

// watch says now and then how much of a wheel is there, until finished is closed.
func watch(scratch string, w wheel, progress io.Writer, finished <-chan struct{}) {
	const every = 2 * time.Second
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	name, version := w.distribution()
	tenth := int64(-1)
	for {
		select {
		case <-finished:
			return
		case <-ticks.C:
		}
		if n := largestFile(scratch); 10*n/max(w.bytes, 1) > tenth {
			tenth = 10 * n / max(w.bytes, 1)
			_, _ = fmt.Fprintf(progress, "  %s %s: %s of %s\n", name, version, size(min(n, w.bytes)), size(w.bytes)) // news alone
		}
	}
}

// largestFile is the size of the largest file below dir: pip writes the wheel there, and other things.
func largestFile(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // files come and go
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n = max(n, info.Size())
			}
		}
		return nil
	})
	return n
}

// oneAtATime is a writer for several goroutines.
type oneAtATime struct {
	sync.Mutex
	w io.Writer
}

func (o *oneAtATime) Write(p []byte) (int, error) {
	o.Lock()
	defer o.Unlock()
	return o.w.Write(p)
}
