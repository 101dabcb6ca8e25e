package install

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// pins hold one file per variant and platform, written by scripts/pin-wheels.py.
//
//go:embed pins/*.txt
var pins embed.FS

// pin is a file, and what it must be.
type pin struct {
	file   string // of a wheel: its name; of a library: its path in the wheel
	sha256 string
	bytes  int64
}

// name is what a library is called where it is installed: all lie in one folder, which is where they look for each other.
func (p pin) name() string { return path.Base(p.file) }

// wheel is a Python package and the libraries to take from it.
type wheel struct {
	pin
	libraries []pin
}

// release is a variant for one platform. Its main library is the first of the first wheel.
type release struct{ wheels []wheel }

func (r *release) main() string { return r.wheels[0].libraries[0].name() }

// files are the libraries of all wheels.
func (r *release) files() (all []pin) {
	for _, w := range r.wheels {
		all = append(all, w.libraries...)
	}
	return all
}

// installed is the size of the libraries in bytes.
func (r *release) installed() (n int64) {
	for _, f := range r.files() {
		n += f.bytes
	}
	return n
}

// fetched is the size of the wheels in bytes, and that of the largest.
func (r *release) fetched() (all, largest int64) {
	for _, w := range r.wheels {
		all, largest = all+w.bytes, max(largest, w.bytes)
	}
	return all, largest
}

// pinned reads the release of a variant for a platform such as linux-amd64.
func pinned(name, platform string) (release, error) {
	if name == "" {
		name = CPU
	}
	text, err := pins.ReadFile("pins/" + name + "-" + platform + ".txt")
	if err != nil {
		return release{}, fmt.Errorf("no %s libraries are pinned for %s; fetch %s yourself and name its library in runtime.library", name, platform, variants[name].title)
	}
	return parse(string(text))
}

// parse reads lines `wheel FILE SHA256 BYTES`, each followed by its `file PATH SHA256 BYTES`.
func parse(text string) (release, error) {
	var r release
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad := fmt.Errorf("pins, line %d: %q, expected wheel or file with name, sha256 and bytes", i+1, line)
		fields := strings.Fields(line)
		if len(fields) != 4 || len(fields[2]) != 64 {
			return release{}, bad
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil || size < 0 {
			return release{}, bad
		}
		p := pin{fields[1], fields[2], size}
		switch last := len(r.wheels) - 1; {
		case fields[0] == "wheel" && len(strings.Split(p.file, "-")) >= 5:
			r.wheels = append(r.wheels, wheel{pin: p})
		case fields[0] == "file" && last >= 0 && !slices.ContainsFunc(r.files(), func(f pin) bool { return f.name() == p.name() }):
			r.wheels[last].libraries = append(r.wheels[last].libraries, p)
		default:
			return release{}, bad
		}
	}
	if len(r.wheels) == 0 || slices.ContainsFunc(r.wheels, func(w wheel) bool { return len(w.libraries) == 0 }) {
		return release{}, fmt.Errorf("pins: expected wheels with files")
	}
	return r, nil
}

// distribution is the name and the version of the wheel's package.
func (w *wheel) distribution() (name, version string) {
	parts := strings.Split(w.file, "-")
	return strings.ReplaceAll(parts[0], "_", "-"), parts[1]
}

// platforms are the tags of the platforms that the wheel is for.
func (w *wheel) platforms() []string {
	parts := strings.Split(strings.TrimSuffix(w.file, ".whl"), "-")
	return strings.Split(parts[len(parts)-1], ".")
}
