package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network/family"
)

// The files in which a model of this framework says more of itself than config.json does.
const (
	manifestName   = "mdm.json"
	generationName = "generation_config.json"
)

// about is what a model of this framework says of itself; all is nil of others, and of what is missing.
type about struct {
	manifest   *model.Manifest
	generation []byte
	read       []string // paths
}

// readAbout reads them. Networks besides the denoiser, whose parameters an export leaves behind, are left out with a note.
func readAbout(dir string, r *family.Recipe) (a about, err error) {
	read := func(name string) (text []byte) {
		path := filepath.Join(dir, name)
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			text, err = nil, nil
		} else {
			a.read = append(a.read, path)
		}
		return text
	}
	text := read(manifestName)
	if a.generation = read(generationName); err != nil {
		return a, err
	}
	if text == nil {
		r.Notes = append(r.Notes, "there is no "+manifestName+", so lengths and schedule are the defaults; copy it, and "+generationName+", from the model's export, and import again")
		return a, nil
	}
	if a.manifest, err = model.ParseManifest(filepath.Join(dir, manifestName), text); err != nil {
		return a, err
	}
	for _, name := range slices.Sorted(maps.Keys(a.manifest.Networks)) {
		n := a.manifest.Networks[name]
		if n.ONNX != "" || !slices.ContainsFunc(r.Extra, func(t safetensors.Tensor) bool { return strings.HasPrefix(t.Name, n.Prefix) }) {
			delete(a.manifest.Networks, name)
			r.Notes = append(r.Notes, fmt.Sprintf("left out: the network %q of %s, whose parameters are not there", name, manifestName))
		}
	}
	return a, nil
}
