package registry

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// LockFile is the name of the file that pins a project's plugins.
const LockFile = "mdmhost.lock"

// Pin is the version of a plugin that a project has chosen.
type Pin struct {
	Version string `yaml:"version,omitempty"` // "": a bare executable
	Digest  string `yaml:"digest"`            // see [Sums.Digest]
	Source  string `yaml:"source,omitempty"`  // where it was installed from, relative to the lock
}

// Lock is a mdmhost.lock: a pin for each plugin, by name, or by its path relative to the lock, which begins with "./" or "../".
type Lock struct {
	Path    string
	Plugins map[string]Pin
}

// locked is a lock as it is written down.
type locked struct {
	Version int            `yaml:"version"` // of this format
	Plugins map[string]Pin `yaml:"plugins"`
}

const lockVersion = 1

var (
	goType  = regexp.MustCompile(` (in type|into) [a-zA-Z.\[\]]+`)
	badType = regexp.MustCompile("cannot unmarshal !!([a-z]+)( `[^`]*`)?")
)

// nouns are what YAML's types are called.
var nouns = map[string]string{"seq": "a list", "map": "a map", "str": "the text", "int": "the number", "float": "the number", "bool": "the word", "null": "nothing"}

var digestPlain = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// ReadLock reads a lock; one that is not there pins nothing.
func ReadLock(path string) (*Lock, error) {
	text, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), maxYAML)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Path: path, Plugins: map[string]Pin{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return ParseLock(path, text)
}

// ParseLock reads the text of a lock; path is its name in messages.
func ParseLock(path string, text []byte) (*Lock, error) {
	const hint = "; take the file from version control, or remove it and run `mdmhost plugin lock`"
	var file locked
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s%s", path, plainly(err), hint)
	}
	if file.Version != lockVersion {
		return nil, fmt.Errorf("%s: expected version %d of the format, found %d%s", path, lockVersion, file.Version, hint)
	}
	for name, pin := range file.Plugins {
		if !namePlain.MatchString(name) && !IsPath(name) {
			return nil, fmt.Errorf("%s: %q: expected the name of a plugin or a path such as ./my-planner%s", path, name, hint)
		}
		if !digestPlain.MatchString(pin.Digest) {
			return nil, fmt.Errorf("%s: %s: digest: expected sha256: and 64 digits, found %q%s", path, name, pin.Digest, hint)
		}
	}
	if file.Plugins == nil {
		file.Plugins = map[string]Pin{}
	}
	return &Lock{Path: path, Plugins: file.Plugins}, nil
}

// plainly is what YAML says of a text, without the names of types, in one line.
func plainly(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if all := (*yaml.TypeError)(nil); errors.As(err, &all) {
		text = strings.Join(all.Errors, "; ")
	}
	return badType.ReplaceAllStringFunc(goType.ReplaceAllString(text, ""), func(bad string) string {
		parts := badType.FindStringSubmatch(bad)
		return cmp.Or(nouns[parts[1]], "a value") + parts[2] + " stands where another kind of value belongs"
	})
}

// Save writes the lock, whole or not at all.
func (l *Lock) Save() error {
	return wholefile.Replace(l.Path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "# Which version of each plugin runs here, written by `mdmhost plugin`. Keep it under version control.\n"); err != nil {
			return err
		}
		e := yaml.NewEncoder(w)
		e.SetIndent(2)
		return errors.Join(e.Encode(locked{lockVersion, l.Plugins}), e.Close())
	})
}

// names are the keys of the pins, sorted.
func (l *Lock) names() []string { return slices.Sorted(maps.Keys(l.Plugins)) }

// key is what a path is called in the lock: relative to it, with slashes, "./" before it if it stays below.
func (l *Lock) key(path string) (string, error) {
	relative, err := l.relative(path)
	if err == nil && relative != ".." && !strings.HasPrefix(relative, "../") && !filepath.IsAbs(relative) {
		relative = "./" + relative
	}
	return relative, err
}

// file is the path that a key stands for, as the working directory sees it.
func (l *Lock) file(key string) string {
	path := filepath.Join(filepath.Dir(l.Path), filepath.FromSlash(key))
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "..") {
		path = "." + string(filepath.Separator) + path
	}
	return path
}

func (l *Lock) relative(path string) (string, error) {
	base, err := filepath.Abs(filepath.Dir(l.Path))
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	relative, err := filepath.Rel(base, path)
	return filepath.ToSlash(relative), err
}

// pinOf finds the pin of a plugin: by its path if that was given, else by its name.
func (l *Lock) pinOf(p *Plugin) (key string, pin Pin, ok bool, err error) {
	key = p.Name
	if p.Place == Given {
		if key, err = l.key(p.Path); err != nil {
			return "", Pin{}, false, err
		}
	}
	pin, ok = l.Plugins[key]
	return key, pin, ok, nil
}

// sourceKey is what a source is called in the lock: paths are relative to it.
func (l *Lock) sourceKey(source string) (string, error) {
	if layout, tag := splitOCI(source); strings.HasPrefix(source, ociPrefix) {
		key, err := l.key(layout)
		if tag != "" {
			tag = ":" + tag
		}
		return ociPrefix + key + tag, err
	}
	return l.key(source)
}
