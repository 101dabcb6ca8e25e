package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Relock accepts plugins as they are now: their SHA256SUMS, where they have one, is written anew, and the project's lock pins
// them; those of the user's own folder are pinned there, too. Names may be paths. Without names it takes all that the project
// has installed or pinned.
func (p Places) Relock(names []string) ([]Status, error) {
	plugins, err := p.toLock(names)
	if err != nil {
		return nil, err
	}
	var out []Status
	for _, plugin := range plugins {
		if err := p.relock(plugin); err != nil {
			return out, err
		}
		out = append(out, p.Status(plugin))
	}
	return out, nil
}

func (p Places) toLock(names []string) (out []*Plugin, err error) {
	if len(names) > 0 {
		return p.named(names)
	}
	lock, err := ReadLock(p.Project.Lock)
	if err != nil {
		return nil, err
	}
	for _, plugin := range List(p) {
		if _, pinned := lock.Plugins[plugin.Name]; !pinned && plugin.Place != Project {
			continue
		}
		if plugin.Damage != nil {
			return nil, plugin.Damage
		}
		out = append(out, plugin)
	}
	for _, key := range lock.names() {
		if IsPath(key) {
			plugin, err := p.pinnedPlugin(lock, key)
			if err != nil {
				return nil, err
			}
			out = append(out, plugin)
		}
	}
	return out, nil
}

func (p Places) relock(plugin *Plugin) error {
	sums, err := plugin.accept()
	if err != nil {
		return err
	}
	for _, home := range p.homesOf(plugin) {
		lock, err := ReadLock(home.Lock)
		if err != nil {
			return err
		}
		key, pin, _, err := lock.pinOf(plugin)
		if err != nil {
			return err
		}
		pin.Version, pin.Digest = plugin.version(), sums.Digest()
		lock.Plugins[key] = pin
		if err := lock.Save(); err != nil {
			return err
		}
	}
	return nil
}

// accept hashes the plugin's files as they are and writes its SHA256SUMS anew, where it has one. A file that only SHA256SUMS
// knew may be gone.
func (p *Plugin) accept() (Sums, error) {
	if p.Manifest == nil {
		return p.Hash()
	}
	f, err := openFolder(p.Path, p.Manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer f.root.Close() //nolint:errcheck // only read
	_, err = f.root.Stat(SumsFile)
	listed := err == nil
	f.sums, _ = f.list() // one that cannot be read is written anew, too
	for name := range f.sums {
		if _, err := f.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
			delete(f.sums, name)
		}
	}
	sums, err := f.declared()
	if err == nil && listed {
		err = wholefile.ReplaceBytes(filepath.Join(p.Path, SumsFile), sums.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return sums, nil
}
