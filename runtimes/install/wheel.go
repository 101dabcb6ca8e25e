package install

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// check compares a fetched wheel with its pin.
func (w *wheel) check(ctx context.Context, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	defer func() { _ = in.Close() }()
	return w.copyChecked(ctx, io.Discard, in)
}

// unpack takes the wanted files out of the wheel into dir, and nothing else.
func (w *wheel) unpack(ctx context.Context, path, dir string) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%s: %w; fetch it again", w.file, err)
	}
	defer func() { _ = archive.Close() }()
	for _, f := range w.libraries {
		in, err := archive.Open(f.file)
		if err != nil {
			return fmt.Errorf("%s: %w; it is another wheel than the pinned one", w.file, err)
		}
		err = writeChecked(ctx, filepath.Join(dir, f.name()), in, f)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func writeChecked(ctx context.Context, path string, in io.Reader, want pin) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	err = want.copyChecked(ctx, out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// verify tells whether the libraries in dir are regular files with the pinned contents.
func (r *release) verify(ctx context.Context, dir string) error {
	for _, f := range r.files() {
		path := filepath.Join(dir, f.name())
		if info, err := os.Lstat(path); err != nil {
			return err
		} else if !info.Mode().IsRegular() || info.Size() != f.bytes {
			return fmt.Errorf("%s is not the pinned file", path)
		}
	}
	for _, f := range r.files() { // now that the sizes are right
		in, err := os.Open(filepath.Join(dir, f.name()))
		if err != nil {
			return err
		}
		err = f.copyChecked(ctx, io.Discard, in)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// copyChecked copies in to out and compares what came with the pin.
func (p *pin) copyChecked(ctx context.Context, out io.Writer, in io.Reader) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), &until{ctx, in})
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%s: %w", p.file, err)
	case got != p.sha256 || n != p.bytes:
		return fmt.Errorf("%s has sha256 %s in %d bytes, expected %s in %d; nothing was installed, try again or another mirror", p.file, got, n, p.sha256, p.bytes)
	}
	return nil
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
