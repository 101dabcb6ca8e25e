// Package hub fetches model directories from an endpoint with the layout of the Hugging Face Hub.
//
// The first answer, the listing, names a commit and the size and digest of every file; all else is asked of that commit and held against
// them. Files arrive in a folder of their own within the directory and go to their places when all of them are there, config.json last: what
// was cut off opens as no model, and the next run goes on with it.
package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Options say where from and how.
type Options struct {
	Endpoint    string        // such as https://huggingface.co
	Token       string        // of an account, sent to the endpoint alone; "": none
	Include     []string      // patterns of files to fetch; nil: those of a model directory
	Exclude     []string      // patterns of files to leave
	Overwrite   bool          // replace files of the directory that differ
	Connections int           // files at a time, from 1
	Retries     int           // tries in a row, after the first one, that may fail
	Stall       time.Duration // longest silence of the other side
	Progress    io.Writer     // where progress is shown once a pull takes longer than two seconds; nil: nowhere
	Terminal    bool          // Progress is one
}

// OptionsError is the error of options that no pull can be made with: it names the one that is wrong.
type OptionsError struct{ text string }

// Error says what was expected.
func (e *OptionsError) Error() string { return e.text }

// Result is what was fetched.
type Result struct {
	Repo    string   `json:"repo"` // OWNER/NAME
	Commit  string   `json:"commit"`
	Dir     string   `json:"dir"`
	Files   []Pulled `json:"files"`         // by path
	Bytes   int64    `json:"bytes_fetched"` // by this run; those of an earlier one that was cut off count there
	Seconds float64  `json:"seconds"`
}

// Pulled is a file in its place.
type Pulled struct {
	File
	Fetched bool `json:"fetched"` // by this run; false: it was there
}

// pull is one that runs.
type pull struct {
	repo    Repo // at its commit
	dir     string
	options Options
	client  *client
	root    *os.Root // of dir: nothing is read or written beyond it
	screen  *screen

	replaces bool   // files of another revision
	standing []File // config.json where it is in its place already
}

// opens is the file without which a directory is no model.
const opens = "config.json"

// Pull brings the files of a repository into dir, each whole and held against its digest. Files that are there already are not fetched again;
// one that differs from the repository's is an error before anything is changed, unless it may be overwritten. After an error, or when ctx
// ends, what was fetched stays in dir for the next run, no file is in its place by half, and dir opens as no model of two revisions. Options
// that cannot be are an [OptionsError].
func Pull(ctx context.Context, repo Repo, dir string, o Options) (*Result, error) {
	start := time.Now()
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	defer c.wire.CloseIdleConnections()
	listing, err := c.list(ctx, repo, o.Retries)
	if err != nil {
		return nil, err
	}
	files, err := choose(listing.Files, o.Include, o.Exclude)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: has none of the files that are asked for among its %d%s; choose with --include", repo, len(listing.Files), some(listing.Files))
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	p := &pull{repo: Repo{listing.Name, listing.Commit}, dir: dir, options: o, client: c}
	result := &Result{Repo: listing.Name, Commit: listing.Commit, Dir: dir}
	missing, err := p.missing(ctx, files)
	if err == nil && len(missing) > 0 {
		result.Bytes, err = p.run(ctx, missing)
	}
	if p.root != nil {
		_ = p.root.Close() // it was a handle
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for _, f := range files {
		result.Files = append(result.Files, Pulled{f, slices.Contains(missing, f)})
	}
	result.Seconds = time.Since(start).Seconds()
	return result, nil
}

// some names a few files.
func some(files []File) string {
	var names []string
	for _, f := range files[:min(5, len(files))] {
		names = append(names, f.Path)
	}
	if names == nil {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ", ...)"
}

// missing are the files that are not in dir yet. Files there that differ are refused.
func (p *pull) missing(ctx context.Context, files []File) ([]File, error) {
	root, err := os.OpenRoot(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	p.root = root
	var out []File
	var differ []string
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := root.Stat(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, f)
			continue
		case err != nil:
			return nil, p.obstacle(f.Path, err)
		case info.IsDir():
			return nil, fmt.Errorf("%s is a directory, and the repository has a file of that name; move it away", f.Path)
		}
		if info.Size() == f.Size {
			got, err := p.digest(f.Path, f)
			if err != nil {
				return nil, err
			}
			if got == f.Digest {
				if f.Path == opens {
					p.standing = []File{f}
				}
				continue
			}
		}
		out, differ = append(out, f), append(differ, f.Path)
	}
	if len(differ) > 0 && !p.options.Overwrite {
		return nil, fmt.Errorf("%s: not what %s holds at commit %.12s, but of another revision, or changed; nothing was changed: add --overwrite to replace, or give another directory", strings.Join(differ, ", "), p.repo.Name, p.repo.Revision)
	}
	p.replaces = len(differ) > 0
	return out, nil
}

// obstacle says what stands in the way of a file of dir that cannot be looked at, which is what err says.
func (p *pull) obstacle(name string, err error) error {
	for i := range name + "/" {
		if i < len(name) && name[i] != '/' {
			continue
		}
		on := name[:i]
		info, gone := p.root.Lstat(on)
		switch {
		case gone != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			if _, out := p.root.Stat(on); out != nil {
				return fmt.Errorf("%s is a link that leads out of the directory (%w), where nothing is read or written; remove the link, or give another directory", on, out)
			}
		case !info.IsDir() && i < len(name):
			return fmt.Errorf("%s is a file, and the repository has a directory of that name; move it away", on)
		}
	}
	return err
}

// run fetches files and puts them in place. It returns how many bytes came.
func (p *pull) run(ctx context.Context, files []File) (n int64, err error) {
	if p.root == nil {
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return 0, err
		}
		if p.root, err = os.OpenRoot(p.dir); err != nil {
			return 0, err
		}
	}
	if err := p.root.MkdirAll(partsDir, 0o755); err != nil {
		return 0, err
	}
	lock := flock.New(filepath.Join(p.dir, partsDir, "lock"))
	if held, err := lock.TryLock(); err != nil {
		return 0, err
	} else if !held {
		return 0, errors.New("another pull writes into it; wait until it is done, or give another directory")
	}
	defer lock.Unlock() //nolint:errcheck // it ends with the process at the latest
	var size, there int64
	for _, f := range files {
		if n := p.have(f); n > f.Size {
			if err := p.forget(f); err != nil {
				return 0, err
			}
		} else {
			there += n
		}
		size += f.Size
	}
	p.screen = newScreen(p.options, size)
	p.screen.add(there)
	g, fetching := errgroup.WithContext(ctx)
	g.SetLimit(max(1, p.options.Connections))
	for _, f := range once(files) {
		g.Go(func() error { return p.fetch(fetching, f) })
	}
	err = g.Wait()
	n = p.screen.close() - there
	if ctx.Err() != nil { // rather than what it looked like to a file
		err = context.Cause(ctx)
	}
	if err != nil {
		return n, err
	}
	return n, p.place(files)
}

// once leaves one of the files of the same content.
func once(files []File) []File {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int {
		return cmp.Or(strings.Compare(a.Digest.Hex, b.Digest.Hex), cmp.Compare(a.Size, b.Size))
	})
	return slices.CompactFunc(files, func(a, b File) bool { return a.Digest == b.Digest })
}

// place moves what was fetched to its places, config.json last, and removes partsDir.
func (p *pull) place(files []File) error {
	last := func(f File) int {
		if f.Path == opens {
			return 1
		}
		return 0
	}
	if p.replaces {
		if err := p.withdraw(); err != nil {
			return err
		}
		files = slices.Concat(files, p.standing)
	}
	files = slices.SortedStableFunc(slices.Values(files), func(a, b File) int { return last(a) - last(b) })
	for i, f := range files {
		if err := p.root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		move := p.root.Rename
		if slices.ContainsFunc(files[i+1:], func(other File) bool { return other.Digest == f.Digest }) {
			move = p.copy
		}
		if err := move(f.part(), f.Path); err != nil {
			return err
		}
		if err := wholefile.SyncDir(filepath.Join(p.dir, filepath.FromSlash(path.Dir(f.Path)))); err != nil {
			return err
		}
	}
	return errors.Join(p.root.RemoveAll(partsDir), wholefile.SyncDir(p.dir))
}

// withdraw takes config.json from its place before files of another revision are replaced: between two of them the directory must not open as a
// model. One that stays what it is becomes a part, from which this run or the next one puts it back.
func (p *pull) withdraw() error {
	var err error
	if p.standing != nil {
		err = p.root.Rename(opens, p.standing[0].part())
	} else if err = p.root.Remove(opens); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, wholefile.SyncDir(p.dir))
}

// copy is for a content that has another place, too.
func (p *pull) copy(from, to string) error {
	in, err := p.root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	return wholefile.Replace(filepath.Join(p.dir, filepath.FromSlash(to)), func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}
