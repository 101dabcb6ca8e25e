package install

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// link is a symbolic link to a library of a PyTorch.
type link struct{ name, to string }

// withTorch leaves the nvidia wheels out of a release whose libraries the PyTorch in site, a folder site-packages, has with the same major
// versions, and returns links to these. All of its libraries of that wheel are linked, not those alone that are pinned, because releases
// of cuDNN are cut into different parts.
func (r *release) withTorch(site string) (release, []link, error) {
	site, err := filepath.Abs(site)
	if err != nil {
		return release{}, nil, err
	}
	var rest release
	var links []link
	var missing []string
	for _, w := range r.wheels {
		if !strings.HasPrefix(w.file, "nvidia_") {
			rest.wheels = append(rest.wheels, w)
			continue
		}
		theirs, lacks := w.inTorch(site)
		if len(lacks) > 0 {
			rest.wheels = append(rest.wheels, w)
			missing = append(missing, lacks...)
			continue
		}
		links = append(links, theirs...)
	}
	switch {
	case !slices.ContainsFunc(r.wheels, func(w wheel) bool { return strings.HasPrefix(w.file, "nvidia_") }):
		return release{}, nil, fmt.Errorf("--torch goes with the variant %s alone, the others need no nvidia libraries; leave it out", CUDA)
	case len(links) == 0:
		return release{}, nil, fmt.Errorf("%s has no %s below nvidia/*/lib; give the site-packages of a PyTorch for CUDA 13, or leave --torch out to fetch them", site, strings.Join(missing, ", "))
	}
	return rest, links, nil
}

// inTorch returns links to the libraries in site that may take the place of a wheel's, and those of the wheel that site lacks: libraries
// that programs link with, which have a name without parts.
func (w *wheel) inTorch(site string) (theirs []link, lacks []string) {
	for _, f := range w.libraries {
		stem, _, _ := strings.Cut(f.name(), ".so.")
		if strings.ContainsAny(stem, "-_") {
			continue
		}
		var found bool
		for _, below := range []string{"nvidia/*/lib", "torch/lib"} {
			files, _ := filepath.Glob(filepath.Join(site, below, stem+`[_.\-]*`)) // the pattern is well-formed
			for _, file := range files {
				l := link{filepath.Base(file), file}
				if strings.Contains(l.name, ".so.") && !slices.ContainsFunc(theirs, func(o link) bool { return o.name == l.name }) {
					theirs = append(theirs, l)
					found = found || l.name == f.name()
				}
			}
		}
		if !found {
			lacks = append(lacks, f.name())
		}
	}
	return theirs, lacks
}

// linked tells whether the links are in dir, and lead to libraries that are still there.
func linked(dir string, links []link) bool {
	for _, l := range links {
		to, err := os.Readlink(filepath.Join(dir, l.name))
		if err != nil || to != l.to {
			return false
		}
		if _, err := os.Stat(to); err != nil {
			return false
		}
	}
	return true
}
