package registry

import (
	"errors"
	"fmt"
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

// homesOf are the homes whose locks speak of a plugin: the project's and, for one of the user's own folder, the user's.
func (p Places) homesOf(plugin *Plugin) []Home {
	homes := []Home{p.Project}
	if plugin.Place == User {
		homes = append(homes, p.User)
	}
	return slices.DeleteFunc(homes, func(h Home) bool { return h.Lock == "" })
}

// pinned is a pin with the path of its lock.
type pinned struct {
	path string
	pin  Pin
}

// locksOf are the pins that a plugin must fit.
func (p Places) locksOf(plugin *Plugin) ([]pinned, error) {
	var out []pinned
	for _, home := range p.homesOf(plugin) {
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
