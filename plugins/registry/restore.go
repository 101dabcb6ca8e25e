package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Restore installs, each from the source that the lock remembers, the plugins that the home's lock pins and that are not there as
// pinned. One that its source no longer gives, by name and digest, is an error, after the others were tried; nothing of what the
// source gives instead runs.
func (h Home) Restore(ctx context.Context, i Installation) (out []*Installed, err error) {
	lock, err := ReadLock(h.Lock)
	if err != nil {
		return nil, err
	}
	for _, name := range lock.names() {
		pin := lock.Plugins[name]
		if IsPath(name) || h.holds(name, pin) {
			continue
		}
		if pin.Source == "" {
			err = errors.Join(err, fmt.Errorf("plugin %s: %s does not say where it came from; name its source", name, lock.Path))
			continue
		}
		i.Source, i.Force, i.only = lock.source(pin), false, &wanted{name, pin, lock.Path}
		one, fault := h.Install(ctx, i)
		if err = errors.Join(err, fault); fault == nil {
			out = append(out, one)
		}
	}
	return out, err
}

// holds tells whether the plugin is there as it is pinned.
func (h Home) holds(name string, pin Pin) bool {
	p, err := openIn(search{h.Plugins, Project}, name)
	if err != nil {
		return false
	}
	sums, err := p.Verify()
	return err == nil && sums.Digest() == pin.Digest
}

// source is where a pinned plugin came from, as the working directory sees it.
func (l *Lock) source(pin Pin) string {
	path, isLayout := strings.CutPrefix(pin.Source, ociPrefix)
	if !filepath.IsAbs(path) {
		path = l.file(path)
	}
	if isLayout {
		return ociPrefix + path
	}
	return path
}
