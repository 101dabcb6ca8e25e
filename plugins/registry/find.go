package registry

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// IsPath tells a path from a name: it has a separator, or is "." or "..".
func IsPath(name string) bool {
	return name == "." || name == ".." || strings.ContainsAny(name, "/"+string(filepath.Separator))
}

// Find finds the plugin of a kind ("" for any) by its path or, in the order of the places, by its name. A name that is not there is
// an INVALID_CONFIG with the nearest one; own are the names of first-party plugins, for that message alone. A plugin of the name
// that is damaged is an error, too: it is not passed over for one of a later place.
func Find(kind sampling.Kind, name string, places Places, own []string) (*Plugin, error) {
	what := cmp.Or(string(kind), "plugin")
	object := what + " " + name
	var other *Plugin
	if IsPath(name) {
		p, err := Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, invalid(object, "there is no file "+name, "check the path; `mdmhost plugin list` names the plugins at hand")
		}
		if err != nil || kind == "" || p.Manifest == nil || p.Kind() == kind {
			return p, err
		}
		other = p
	} else if namePlain.MatchString(name) {
		for _, f := range places.folders() {
			p, err := openIn(f, name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return nil, err
			case kind == "" || p.Manifest == nil || p.Kind() == kind:
				return p, nil
			case other == nil:
				other = p
			}
		}
	}
	if other != nil {
		return nil, invalid(object, fmt.Sprintf("%s is a %s, expected a %s", other.Path, other.Kind(), kind), "give it with --"+string(other.Kind()))
	}
	names := slices.Clone(own)
	for _, p := range List(places) {
		if kind == "" || p.Kind() == kind || p.Kind() == "" {
			names = append(names, p.Name)
		}
	}
	return nil, invalid(object, fmt.Sprintf("no %s %q%s", what, name, didYouMean(name, names)), "a binary of your own is named by its path, such as ./"+name)
}

// search is a folder that holds plugins by their names.
type search struct {
	path  string
	place Place
}

func (p Places) folders() []search {
	var out []search
	for _, folder := range p.Path {
		out = append(out, search{folder, OnPath})
	}
	for _, s := range []search{{p.Project.Plugins, Project}, {p.User.Plugins, User}} {
		if s.path != "" {
			out = append(out, s)
		}
	}
	return out
}

// openIn opens the plugin of a name in a folder. The error of one that is not there is an fs.ErrNotExist.
func openIn(s search, name string) (*Plugin, error) {
	path := filepath.Join(s.path, name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", path, err)
	}
	p := &Plugin{Name: name, Path: path, Place: s.place}
	if !info.IsDir() {
		if s.place != OnPath || info.Mode()&0o111 == 0 {
			return nil, fs.ErrNotExist // what is installed has a manifest; other files are no plugins
		}
		return p, nil
	}
	if _, err := os.Stat(filepath.Join(path, ManifestFile)); errors.Is(err, fs.ErrNotExist) && s.place == OnPath {
		return nil, fs.ErrNotExist // any folder
	}
	if p.Manifest, err = ReadManifest(path); err != nil {
		// A broken plugin hides no other: it is there.
		return nil, fmt.Errorf("%w: %s", errDamaged, err)
	}
	if p.Manifest.Name != name {
		return nil, invalid("plugin "+path, fmt.Sprintf("its %s names it %s", ManifestFile, p.Manifest.Name), "a plugin lies in a folder of its own name; rename the folder")
	}
	return p, nil
}

var errDamaged = errors.New("damaged plugin")

// List lists the plugins of all places, those that an earlier one hides left out, without looking into their files. Damaged
// ones are there with their Damage.
func List(places Places) []*Plugin {
	var out []*Plugin
	seen := map[string]bool{}
	for _, s := range places.folders() {
		entries, _ := os.ReadDir(s.path) // a place that is not there holds nothing
		for _, e := range entries {
			name := e.Name()
			p, err := openIn(s, name)
			if !namePlain.MatchString(name) || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				p = &Plugin{Name: name, Path: filepath.Join(s.path, name), Place: s.place, Damage: err}
			}
			if id := string(p.Kind()) + " " + name; !seen[id] {
				seen[id] = true
				out = append(out, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Plugin) int { return strings.Compare(a.Name, b.Name) })
	return out
}
