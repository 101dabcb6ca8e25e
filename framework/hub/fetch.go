package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"
)

// partsDir, within the directory that is pulled into, holds what was fetched and is not in place. A file lies there under its digest, so that
// another run, of another revision even, goes on with it; beside it, with .etag added, the tag that the server gave its content.
const partsDir = ".pull"

func (f File) part() string { return path.Join(partsDir, f.Digest.Hex) }

// diskError is one of this machine's disk.
type diskError struct{ error }

func (e diskError) Unwrap() error { return e.error }

// fetch brings a file into partsDir, whole and held against its digest.
func (p *pull) fetch(ctx context.Context, f File) error {
	best, wrong := p.have(f), 0 // most bytes so far: a server that begins anew each time and never ends makes no progress
	err := again(ctx, p.options.Retries, func() (bool, error) {
		before := p.have(f)
		if before < f.Size || f.Size == 0 {
			if err := p.resume(ctx, f, before); err != nil {
				n := p.have(f)
				progress := n > best
				best = max(best, n)
				return progress, err
			}
		}
		err := p.verify(f)
		if err == nil || errors.As(err, new(diskError)) {
			return false, err
		}
		p.screen.add(-f.Size)
		if wrong++; wrong > 1 { // the first may be the fault of parts that were put together
			err = fatal{err}
		}
		return false, errors.Join(err, p.forget(f))
	})
	switch {
	case err == nil, ctx.Err() != nil:
		return err
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%s: the disk is full, and %s of it lack; what was fetched stays: make room, then run the command again", f.Path, bytes(f.Size-p.have(f)))
	}
	return fmt.Errorf("%s: %w%s", f.Path, p.client.unreachable(err), p.kept(f))
}

// kept says what the next run need not fetch.
func (p *pull) kept(f File) string {
	if n := p.have(f); n > 0 {
		return fmt.Sprintf("; %s of %s stay: run the command again to go on", bytes(n), bytes(f.Size))
	}
	return ""
}

// have is how many bytes of a file lie in partsDir.
func (p *pull) have(f File) int64 {
	info, err := p.root.Stat(f.part())
	if err != nil {
		return 0
	}
	return info.Size()
}

// forget removes what there is of a file.
func (p *pull) forget(f File) error {
	err := p.root.Remove(f.part())
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return err
}

// resume asks for what is missing and adds it to the part. A server that gives the whole instead, because its content has changed or it knows no
// ranges, is taken from the beginning.
func (p *pull) resume(ctx context.Context, f File, from int64) error {
	header := http.Header{}
	if from > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		if tag, err := p.root.ReadFile(f.part() + ".etag"); err == nil && strings.HasPrefix(string(tag), `"`) {
			header.Set("If-Range", string(tag))
		}
	}
	resp, done, err := p.client.get(ctx, p.client.fileURL(p.repo, f.Path), header)
	if err != nil {
		return err
	}
	defer done()
	flags := os.O_CREATE | os.O_WRONLY
	switch s := resp.StatusCode; {
	case s == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)):
	case s == http.StatusOK:
		p.screen.add(-from)
		from, flags = 0, flags|os.O_TRUNC
	case s == http.StatusPartialContent || s == http.StatusRequestedRangeNotSatisfiable:
		p.screen.add(-from)
		return errors.Join(fmt.Errorf("%s answers %d with the range %q, asked from byte %d; run the command again, which begins the file anew", resp.Request.URL.Host, s, resp.Header.Get("Content-Range"), from), p.forget(f))
	default:
		return p.client.refusal(resp, p.repo, f.Path)
	}
	if tag := resp.Header.Get("ETag"); from == 0 {
		if err := p.root.WriteFile(f.part()+".etag", []byte(tag), 0o600); err != nil {
			return fatal{diskError{err}}
		}
	}
	return p.write(f, flags, from, resp.Body)
}

// write adds what comes to the part, up to the size of the file and no further.
func (p *pull) write(f File, flags int, from int64, body io.Reader) (err error) {
	out, err := p.root.OpenFile(f.part(), flags, 0o644)
	if err != nil {
		return fatal{diskError{err}}
	}
	defer func() {
		if e := out.Close(); e != nil && err == nil {
			err = fatal{diskError{e}}
		}
	}()
	if _, err := out.Seek(from, io.SeekStart); err != nil {
		return fatal{diskError{err}}
	}
	n, err := io.Copy(&counted{out, p.screen.add}, io.LimitReader(body, f.Size-from))
	if err != nil {
		return err
	}
	if n < f.Size-from {
		return fmt.Errorf("the connection ended %s before the end", bytes(f.Size-from-n))
	}
	if more, _ := io.ReadFull(body, make([]byte, 1)); more > 0 {
		return errors.Join(fatal{fmt.Errorf("the endpoint sends more than the %d bytes of its listing; try again later, or give another one by hub.endpoint", f.Size)}, p.forget(f))
	}
	if err := out.Sync(); err != nil {
		return fatal{diskError{err}}
	}
	return nil
}

// counted is a file whose bytes are counted, and whose errors are known as the disk's.
type counted struct {
	io.Writer
	add func(int64)
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.add(int64(n))
	if err != nil {
		err = fatal{diskError{err}}
	}
	return n, err
}

// verify holds a part against size and digest.
func (p *pull) verify(f File) error {
	got, err := p.digest(f.part(), f)
	if err != nil {
		return fatal{diskError{err}}
	}
	if n := p.have(f); n != f.Size || got != f.Digest {
		return fmt.Errorf("what came has %d bytes and %s, expected %d and %s; the endpoint, or a cache on the way, hands out something else: try again later, or give another one by hub.endpoint", n, got, f.Size, f.Digest)
	}
	return nil
}

// digest is that of a file on the disk, of the kind that f has.
func (p *pull) digest(name string, f File) (Digest, error) {
	in, err := p.root.Open(name)
	if err != nil {
		return Digest{}, err
	}
	defer in.Close() //nolint:errcheck // only read
	info, err := in.Stat()
	if err != nil {
		return Digest{}, err
	}
	return f.Digest.of(in, info.Size())
}
