package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mdmhost/mdmhost/framework/sampling"
)

// Place is where a plugin was found.
type Place string

// The places in the order in which they are searched.
const (
	Given   Place = "given"   // its path was given
	OnPath  Place = "path"    // in a folder of plugins.path
	Project Place = "project" // in .mdmhost/plugins of the project
	User    Place = "user"    // in the user's own folder
)

// Plugin is a plugin that lies on the disk: a folder with a plugin.yaml, or a bare executable.
type Plugin struct {
	Name     string // of the manifest, or that it was asked for by
	Path     string // of the folder, or of the executable
	Place    Place
	Manifest *Manifest // nil: a bare executable, of which nothing is known, or a damaged plugin
	Damage   error     // what is wrong with the manifest of a plugin in a list
}

// Open looks at the plugin at a path: a folder with a plugin.yaml, or an executable. Where nothing is, the error is fs.ErrNotExist.
func Open(path string) (*Plugin, error) {
	p := &Plugin{Name: path, Path: path, Place: Given}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil || !info.IsDir() {
		return p, nil // that it is no program is told when it is started
	}
	if p.Manifest, err = ReadManifest(path); errors.Is(err, fs.ErrNotExist) {
		return nil, invalid("plugin "+path, "is a folder without a "+ManifestFile, "name the plugin's binary, or write a "+ManifestFile)
	} else if err != nil {
		return nil, err
	}
	p.Name = p.Manifest.Name
	return p, nil
}

// Kind is the kind of plugin, "" where only a start would tell.
func (p *Plugin) Kind() sampling.Kind {
	if p.Manifest == nil {
		return ""
	}
	return p.Manifest.Kind
}

// Command is the program to start and its arguments.
func (p *Plugin) Command() (path string, args []string, err error) {
	if p.Manifest == nil {
		return p.Path, nil, nil
	}
	entry, err := p.Manifest.EntryHere()
	return filepath.Join(p.Path, filepath.FromSlash(entry)), p.Manifest.Args, err
}

// String names the plugin in messages, such as "planner calm 0.1.0 in .mdmhost/plugins/calm".
func (p *Plugin) String() string {
	if p.Manifest == nil {
		return "plugin " + p.Path
	}
	return fmt.Sprintf("%s %s %s in %s", p.Manifest.Kind, p.Manifest.Name, p.Manifest.Version, p.Path)
}

// Hash computes the sums of the files that belong to the plugin, as they are now. Of a bare executable there is one. A file
// that the manifest declares and that is not there is an error.
func (p *Plugin) Hash() (Sums, error) {
	if p.Manifest == nil {
		f, err := os.Open(p.Path)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		sum, err := sumOf(f)
		return Sums{filepath.Base(p.Path): sum}, err
	}
	f, err := openListed(p.Path, p.Manifest)
	if err != nil {
		return nil, err
	}
	defer f.root.Close() //nolint:errcheck // only read
	sums, err := f.declared()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return sums, nil
}

// Sums are what the plugin's SHA256SUMS says, nil where it has none.
func (p *Plugin) Sums() (Sums, error) {
	if p.Manifest == nil {
		return nil, nil
	}
	f, err := openListed(p.Path, p.Manifest)
	if err != nil {
		return nil, err
	}
	return f.sums, f.root.Close()
}

func invalid(object, problem, hint string) error {
	return &sampling.Error{Code: sampling.InvalidConfig, Object: object, Problem: problem, Hint: hint}
}
