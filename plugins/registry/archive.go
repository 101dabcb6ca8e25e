package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of an archive, unpacked. What is larger is installed from a folder.
const (
	maxBytes   = 4 << 30
	maxEntries = 100_000
)

// writeArchive writes a .tar.gz of the files of sums, and of sums, below a folder of its own. The same files make the same bytes.
func writeArchive(w io.Writer, root *os.Root, top string, programs []string, sums Sums) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	write := func(name string, size int64, mode int64, content io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path.Join(top, name), Size: size, Mode: mode, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		_, err := io.Copy(t, content)
		return err
	}
	text := sums.Bytes()
	if err := write(SumsFile, int64(len(text)), 0o644, bytes.NewReader(text)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		err := func() error {
			f, err := root.Open(name)
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // only read
			info, err := f.Stat()
			if err != nil {
				return err
			}
			return write(name, info.Size(), modeOf(info, slices.Contains(programs, name)), f)
		}()
		if err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// modeOf keeps of a file's rights whether it is executable.
func modeOf(info fs.FileInfo, program bool) int64 {
	if program || info.Mode()&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

// readArchive unpacks a .tar.gz into an empty folder. It takes files and folders, nothing that leads out of it, no links and no
// devices, and no more than the bounds.
func readArchive(r io.Reader, into *os.Root) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("expected a .tar.gz, found another kind of file (%w); make one with `mdmhost plugin pack DIR --out FILE.tar.gz`", err)
	}
	z.Multistream(false) // one archive: what follows it is no part
	t := tar.NewReader(z)
	left := int64(maxBytes)
	for entries := 0; ; entries++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, io.LimitReader(z, 1<<20)) // to the end, where gzip's own checksum is
			return damaged(err)
		}
		if err != nil {
			return damaged(err)
		}
		name := path.Clean(h.Name)
		switch {
		case entries == maxEntries:
			return fmt.Errorf("has more than %d files; unpack it and install the folder", maxEntries)
		case h.Typeflag == tar.TypeXGlobalHeader: // a comment, such as git writes
			continue
		case name == "." && h.Typeflag == tar.TypeDir:
			continue
		case !fs.ValidPath(name) || strings.HasPrefix(h.Name, "/"):
			return fmt.Errorf("%q leads out of the archive's own folder; nothing was unpacked from it: do not trust it", h.Name)
		case !writable(name):
			return fmt.Errorf("%q: names of files hold no control characters and no backslashes; rename it and pack the plugin anew", h.Name)
		case h.Typeflag == tar.TypeDir:
			err = into.MkdirAll(name, 0o755)
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%s is a link or a device, expected files and folders only; pack it with `mdmhost plugin pack`", name)
		case h.Size > left:
			return fmt.Errorf("is larger than %d MiB when it is unpacked; unpack it and install the folder", maxBytes>>20)
		default:
			left -= h.Size
			err = errors.Join(into.MkdirAll(path.Dir(name), 0o755), unpack(into, name, h.FileInfo(), t))
		}
		if err != nil {
			return damaged(err)
		}
	}
}

// unpack writes a new file with what r holds.
func unpack(into *os.Root, name string, info fs.FileInfo, r io.Reader) error {
	f, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(modeOf(info, false)))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("damaged archive: %w; get it again", err)
}
