package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Check refuses a plugin whose files differ from its SHA256SUMS or from the lock, with a [ChangedError]. It returns the plugin's
// digest; "" for a plugin by its path that no lock pins: such a one is its author's business and may change at will.
func (p Places) Check(plugin *Plugin) (digest string, err error) {
	locks, err := p.locksOf(plugin)
	if err != nil {
		return "", err
	}
	if plugin.Place == Given && len(locks) == 0 {
		if sums, err := plugin.Sums(); sums == nil {
			return "", err
		}
	}
	sums, err := plugin.Verify()
	var changed *ChangedError
	if errors.As(err, &changed) {
		changed.Hint = advice(plugin)
	}
	if err != nil {
		return "", err
	}
	digest = sums.Digest()
	for _, l := range locks {
		if l.pin.Digest != digest {
			return "", &ChangedError{Plugin: plugin.String(), Than: l.path, Hint: advice(plugin),
				Differences: []Difference{{"digest", l.pin.Digest + of(l.pin.Version), digest + of(plugin.version())}}}
		}
	}
	return digest, nil
}

func of(version string) string {
	if version == "" {
		return ""
	}
	return " of version " + version
}

func (p *Plugin) version() string {
	if p.Manifest == nil {
		return ""
	}
	return p.Manifest.Version
}

// word is what commands call the plugin: its name, or the path that was given.
func (p *Plugin) word() string {
	if p.Place == Given {
		return p.Path
	}
	return p.Name
}

func advice(p *Plugin) string {
	back := "install it again"
	if p.Place == Given {
		back = "bring its files back"
	}
	return fmt.Sprintf("look with `mdmhost plugin verify %s`; %s, or accept the change with `mdmhost plugin lock %s`", p.word(), back, p.word())
}

// pinned is a pin with the path of its lock.
type pinned struct {
	path string
	pin  Pin
}

// locksOf are the pins that a plugin must fit: that of the project and, for one of the user's own folder, that of the user.
func (p Places) locksOf(plugin *Plugin) ([]pinned, error) {
	homes := []Home{p.Project}
	if plugin.Place == User {
		homes = append(homes, p.User)
	}
	var out []pinned
	for _, home := range homes {
		if home.Lock == "" {
			continue
		}
		lock, err := ReadLock(home.Lock)
		if err != nil {
			return nil, err
		}
		_, pin, ok, err := lock.pinOf(plugin)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, pinned{home.Lock, pin})
		}
	}
	return out, nil
}

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
	if sums, err := plugin.Hash(); err == nil {
		s.Digest = sums.Digest()
	}
	if sums, err := plugin.Sums(); err == nil {
		s.Listed = sums != nil
	}
	if locks, err := p.locksOf(plugin); err == nil {
		s.Locked = len(locks) > 0
	}
	_, s.Err = p.Check(plugin)
	return s
}

// Survey is the status of the named plugins or, without names, of all in the places and of all that the project's lock pins.
func (p Places) Survey(names []string) ([]Status, error) {
	if len(names) > 0 {
		var out []Status
		for _, name := range names {
			plugin, err := Find("", name, p, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, p.Status(plugin))
		}
		return out, nil
	}
	var out []Status
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

func (l *Lock) names() []string {
	var out []string
	for name := range l.Plugins {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
