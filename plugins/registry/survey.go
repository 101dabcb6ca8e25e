package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Status is what there is to know of a plugin without starting it.
type Status struct {
	Plugin *Plugin
	Digest string // as found; "" where a file cannot be read
	Listed bool   // it has a SHA256SUMS
	Locked bool   // a lock pins it
	Err    error  // why it would not be started; nil: it would
}

// Status checks the files of a plugin.
func (p Places) Status(plugin *Plugin) Status {
	s := Status{Plugin: plugin, Err: plugin.Damage}
	if s.Err != nil {
		return s
	}
	if sums, err := plugin.Sums(); err == nil {
		s.Listed = sums != nil
	}
	if locks, err := p.locksOf(plugin); err == nil {
		s.Locked = len(locks) > 0
	}
	if s.Digest, s.Err = p.Check(plugin); s.Digest == "" {
		if sums, err := plugin.Hash(); err == nil {
			s.Digest = sums.Digest()
		}
	}
	return s
}

// Survey is the status of the named plugins or, without names, of all in the places and of all that the project's lock pins.
func (p Places) Survey(names []string) ([]Status, error) {
	var out []Status
	if len(names) > 0 {
		plugins, err := p.named(names)
		for _, plugin := range plugins {
			out = append(out, p.Status(plugin))
		}
		return out, err
	}
	there := map[string]bool{}
	for _, plugin := range List(p) {
		there[plugin.Name] = true
		out = append(out, p.Status(plugin))
	}
	lock, err := ReadLock(p.Project.Lock)
	if err != nil {
		return nil, err
	}
	for _, name := range lock.names() {
		if there[name] {
			continue
		}
		plugin, err := p.pinnedPlugin(lock, name)
		if err != nil {
			out = append(out, Status{Plugin: &Plugin{Name: name, Path: name, Place: Given}, Locked: true, Err: err})
			continue
		}
		out = append(out, p.Status(plugin))
	}
	return out, nil
}

// named finds plugins by their names or paths, all or none.
func (p Places) named(names []string) ([]*Plugin, error) {
	out := make([]*Plugin, len(names))
	for i, name := range names {
		var err error
		if out[i], err = Find("", name, p, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pinnedPlugin opens what the lock pins by a path, and says of a name that nothing of it is there.
func (p Places) pinnedPlugin(lock *Lock, key string) (*Plugin, error) {
	pin := lock.Plugins[key]
	if !IsPath(key) {
		hint := ""
		if pin.Source != "" {
			hint = "; it came from " + pin.Source
		}
		return nil, fmt.Errorf("plugin %s: %s pins version %s, and it is not installed%s: `mdmhost plugin install`, or `mdmhost plugin remove %s`", key, lock.Path, pin.Version, hint, key)
	}
	path := lock.file(key)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("plugin %s: %s pins it, and it is not there: `mdmhost plugin remove %s`", key, lock.Path, key)
	}
	return Open(path)
}
