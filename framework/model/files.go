package model

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The files of a model directory.
const (
	configFileName     = "config.json"
	manifestFileName   = "mdm.json"
	tokenizerFileName  = "tokenizer.json"
	generationFileName = "generation_config.json"
	examplesFileName   = "prompts.jsonl"
)

// folder is a model directory: on disk, or in the binary.
type folder struct {
	fs.FS
	name string // what errors call it
	dir  string // absolute path, or "" in the binary
}

// optional reads a file that may be missing; nil then.
func (f folder) optional(name string) ([]byte, error) {
	b, err := fs.ReadFile(f, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.path(name), err)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

func (f folder) path(name string) string { return path.Join(f.name, name) }

// onnxNames lists where the ONNX file of a precision may be; "" is the file without one.
func onnxNames(precision string) []string {
	base := "model.onnx"
	if precision != "" {
		base = "model_" + precision + ".onnx"
	}
	return []string{"onnx/" + base, base}
}

// precisions lists the precisions that the folder has ONNX files for; "" is the file without one.
func (f folder) precisions() []string {
	var out []string
	for _, dir := range []string{"onnx", "."} {
		entries, _ := fs.ReadDir(f, dir)
		for _, e := range entries {
			if e.Name() == "model.onnx" {
				out = append(out, "")
			} else if p, ok := strings.CutPrefix(e.Name(), "model_"); ok && strings.HasSuffix(p, ".onnx") {
				out = append(out, strings.TrimSuffix(p, ".onnx"))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Variant reads the ONNX file of a precision, such as "fp16", and returns its name in the model's folder; nil where there is none.
func (m *Model) Variant(precision string) (name string, data []byte, err error) {
	for _, name := range onnxNames(precision) {
		if data, err := m.folder.optional(name); data != nil || err != nil {
			return name, data, err
		}
	}
	return "", nil, nil
}

// required reads the files without which there is no model, and names all that are missing.
func (f folder) required(precision string) (config, tokenizer, onnx []byte, onnxName string, err error) {
	var missing []string
	read := func(name, what string) (b []byte) {
		if err == nil {
			if b, err = f.optional(name); err == nil && b == nil {
				missing = append(missing, what)
			}
		}
		return b
	}
	config = read(configFileName, configFileName)
	tokenizer = read(tokenizerFileName, tokenizerFileName)
	names := onnxNames(precision)
	for _, onnxName = range names {
		if err == nil && onnx == nil {
			if onnx, err = f.optional(onnxName); onnx != nil {
				break
			}
		}
	}
	switch {
	case err != nil:
	case onnx == nil && len(missing) == 0 && len(f.precisions()) > 0:
		var have []string
		for _, p := range f.precisions() {
			have = append(have, onnxNames(p)[0])
		}
		err = fmt.Errorf("model %s: has no %s; there are %s: choose one by its precision", f.name, names[0], strings.Join(have, ", "))
	case onnx == nil:
		missing = append(missing, names[0]+" (or "+names[1]+")")
		fallthrough
	case len(missing) > 0:
		err = fmt.Errorf("model %s: has no %s; a model directory needs config.json, tokenizer.json and onnx/model.onnx", f.name, strings.Join(missing, ", no "))
	}
	return config, tokenizer, onnx, onnxName, err
}

// external returns the length of a file of external data. The location comes from the ONNX file and may not lead out of
// the folder that it is in: neither by its text nor through a link.
func (f folder) external(onnxName, location string) (int64, error) {
	if location == "" || !filepath.IsLocal(location) || strings.Contains(location, `\`) || path.Clean(location) == "." {
		return 0, fmt.Errorf("external data in %q is outside the model's folder; export the model again with its data beside it", location)
	}
	if f.dir == "" {
		return 0, fmt.Errorf("external data in %q, but an embedded model is one file", location)
	}
	root, err := filepath.EvalSymlinks(filepath.Join(f.dir, filepath.Dir(onnxName)))
	if err != nil {
		return 0, err
	}
	file, err := filepath.EvalSymlinks(filepath.Join(root, location))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("external data %q is missing; copy it beside %s", location, path.Base(onnxName))
	}
	if err != nil {
		return 0, err
	}
	if inside, err := filepath.Rel(root, file); err != nil || !filepath.IsLocal(inside) {
		return 0, fmt.Errorf("external data %q is a link to %s, outside the model's folder; copy the file into the folder", location, file)
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("external data %q is no regular file", location)
	}
	return info.Size(), nil
}

// notONNX recognises what people have instead of an ONNX file.
func notONNX(b []byte) string {
	start := bytes.ToLower(bytes.TrimSpace(b[:min(len(b), 64)]))
	switch {
	case len(b) == 0:
		return "is empty; copy or export it again"
	case bytes.HasPrefix(start, []byte("<")):
		return "is a web page, not an ONNX model: a download went wrong; fetch it again"
	case bytes.HasPrefix(start, []byte("version https://git-lfs")):
		return "is a Git LFS pointer, not an ONNX model; run `git lfs pull`"
	}
	return ""
}
