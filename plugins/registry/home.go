package registry

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// partSuffix ends the names of folders that are not finished, or no longer wanted.
const partSuffix = ".part"

// hold makes the home's folder and keeps other processes from changing it until the returned function is called, which removes
// the folder again if it is empty. What an interrupted process left is removed.
func (h Home) hold() (release func() error, err error) {
	if err := os.MkdirAll(h.Plugins, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(h.Plugins, flock.SetFlag(os.O_RDONLY)) // the folder itself
	free, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("plugins in %s: %w", h.Plugins, err)
	}
	if !free {
		return nil, fmt.Errorf("plugins in %s: another process installs or removes one; try again when it is done", h.Plugins)
	}
	release = func() error {
		for _, dir := range []string{h.Plugins, filepath.Dir(h.Plugins)} {
			_ = os.Remove(dir) // a folder that is not empty stays
		}
		return lock.Unlock()
	}
	entries, err := os.ReadDir(h.Plugins)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), partSuffix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(h.Plugins, e.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// part makes an empty folder beside the plugins.
func (h Home) part(name string) (string, error) {
	dir, err := os.MkdirTemp(h.Plugins, "."+name+".*"+partSuffix)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// put gives a finished folder the name of the plugin; the one that had it before is removed.
func (h Home) put(dir, name string) error {
	place := filepath.Join(h.Plugins, name)
	put := os.Rename
	if _, err := os.Lstat(place); err == nil {
		put = wholefile.Exchange
	}
	return errors.Join(put(dir, place), wholefile.SyncDir(h.Plugins))
}

// Remove removes an installed plugin and what the home's lock says of it.
func (h Home) Remove(name string) error {
	release, err := h.hold()
	if err != nil {
		return err
	}
	defer release() //nolint:errcheck // the process's end does it, too
	lock, err := ReadLock(h.Lock)
	if err != nil {
		return err
	}
	key := name
	if IsPath(name) {
		if key, err = lock.key(name); err != nil {
			return err
		}
	}
	_, pinned := lock.Plugins[key]
	place := filepath.Join(h.Plugins, name)
	_, err = os.Lstat(place)
	installed := err == nil && namePlain.MatchString(name)
	if !pinned && !installed {
		var names []string
		for _, p := range List(Places{Project: h}) {
			names = append(names, p.Name)
		}
		return invalid("plugin "+name, "is not installed in "+h.Plugins+didYouMean(name, append(names, lock.names()...)), "")
	}
	if installed { // out of sight at once, whatever follows
		part, err := h.part(name)
		if err == nil {
			err = os.Rename(place, filepath.Join(part, name))
		}
		if err != nil {
			return err
		}
		defer os.RemoveAll(part) //nolint:errcheck // the next to hold the home does it, too
	}
	if pinned {
		delete(lock.Plugins, key)
		return lock.Save()
	}
	return nil
}
