package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// newPart makes a directory beside dir under another name, and holds it until it is released. What processes that were killed left of
// dir before is removed: it has such a name, and nobody holds it.
func newPart(dir string) (part string, release func(), err error) {
	parent, before := filepath.Dir(dir), "."+filepath.Base(dir)+"."
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".part"), before)
		if !ok || !e.IsDir() || strings.Trim(number, "0123456789") != "" || !strings.HasSuffix(e.Name(), ".part") {
			continue
		}
		old := filepath.Join(parent, e.Name())
		if held, err := claim(old); err == nil {
			_ = errors.Join(os.RemoveAll(old), held.Close()) // what cannot be removed is in nobody's way
		}
	}
	for {
		if part, err = os.MkdirTemp(parent, before+"*.part"); err != nil {
			return "", nil, err
		}
		held, err := claim(part)
		switch {
		case err == nil:
			return part, func() { _ = held.Close() }, nil
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // another process took it for one that is left
		default:
			return part, func() {}, nil
		}
	}
}
