package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// folder is a plugin's folder, of which nothing outside can be reached: a link that leads out of it is an error.
type folder struct {
	root *os.Root
	m    *Manifest
	sums Sums // as its SHA256SUMS says; nil: it has none, or it does not count
}

func openFolder(dir string, m *Manifest) (*folder, error) {
	root, err := os.OpenRoot(dir)
	return &folder{root: root, m: m}, err
}

// openListed opens a folder and reads its SHA256SUMS, where it has one.
func openListed(dir string, m *Manifest) (*folder, error) {
	f, err := openFolder(dir, m)
	if err != nil {
		return nil, err
	}
	if f.sums, err = f.list(); err != nil {
		return nil, errors.Join(err, f.root.Close())
	}
	return f, nil
}

// list reads the folder's SHA256SUMS; nil where it has none.
func (f *folder) list() (Sums, error) {
	text, err := readFile(f.root.FS(), SumsFile, maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.root.Name(), err)
	}
	return ParseSums(path.Join(f.root.Name(), SumsFile), text)
}

// belonging names the files of the plugin, sorted: plugin.yaml, its programs, what its patterns match and what SHA256SUMS
// lists. What the manifest declares and is not there is in missing.
func (f *folder) belonging() (names, missing []string, err error) {
	found := map[string]bool{}
	add := func(name string) error {
		if !writable(name) {
			return fmt.Errorf("%q: names of files hold no control characters and no backslashes; rename it", name)
		}
		found[name] = true
		return nil
	}
	for _, name := range append(f.m.programs(), ManifestFile) {
		found[name] = true
	}
	for name := range f.sums {
		found[name] = true
	}
	for _, pattern := range f.m.Files {
		matches := []string{path.Clean(pattern)}
		if strings.ContainsAny(pattern, `*?[`) {
			if matches, err = fs.Glob(f.root.FS(), matches[0]); err != nil {
				return nil, nil, err
			}
			matches = slices.DeleteFunc(matches, func(name string) bool { return hidden(path.Base(name)) && !hidden(path.Base(pattern)) })
		}
		for _, match := range matches {
			if err := f.within(match, add); err != nil {
				return nil, nil, err
			}
		}
		if len(matches) == 0 {
			missing = append(missing, pattern)
		}
	}
	delete(found, SumsFile)
	for name := range found {
		switch info, err := f.root.Stat(name); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return nil, nil, fmt.Errorf("%w; the files of a plugin lie within its folder", err)
		case !info.Mode().IsRegular():
			return nil, nil, fmt.Errorf("%s: expected a file, found a folder or a device", name)
		}
	}
	slices.Sort(missing)
	return slices.Sorted(maps.Keys(found)), slices.Compact(missing), nil
}

// hidden names are matched by patterns that begin with a dot, too, as in a shell: what a setup makes (.venv) belongs to no list.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// within calls add for a file, or for all files of a folder. What Python compiles beside its sources is left out: it is
// made anew on every machine.
func (f *folder) within(name string, add func(string) error) error {
	info, err := f.root.Stat(name)
	if err != nil || !info.IsDir() {
		return add(name) // what is wrong with it is told with the others
	}
	return fs.WalkDir(f.root.FS(), name, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "__pycache__":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		return add(name)
	})
}

// declared hashes all files that belong to the plugin; one that is missing is an error.
func (f *folder) declared() (Sums, error) {
	names, missing, err := f.belonging()
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s, which %s declares, is missing; make it, or take it out", strings.Join(missing, ", "), ManifestFile)
	}
	return f.hash(names)
}

// hash computes the sums of the named files; those that are not there are left out.
func (f *folder) hash(names []string) (Sums, error) {
	out := Sums{}
	for _, name := range names {
		sum, err := f.hashFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = sum
	}
	return out, nil
}

func (f *folder) hashFile(name string) (string, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	return sumOf(file)
}

func sumOf(r io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
