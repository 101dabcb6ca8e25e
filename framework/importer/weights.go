package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/importer/torchfile"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// weights are the tensors of a checkpoint, in files that are mapped.
type weights struct {
	name    string   // of the file, or of the index, in errors
	read    []string // paths
	tensors []safetensors.Tensor
	files   []mappedFile
}

type mappedFile interface {
	Tensors() []safetensors.Tensor
	Release(part []byte)
	Close() error
}

// release gives back the memory of a part that was read.
func (w *weights) release(part []byte) {
	for _, f := range w.files {
		f.Release(part)
	}
}

func (w *weights) close() {
	for _, f := range w.files {
		_ = f.Close() // which was only read
	}
}

// kind is a way to store weights.
type kind struct {
	single, index, suffix string
	open                  func(path string) (mappedFile, error)
}

var kinds = []kind{
	{"model.safetensors", "model.safetensors.index.json", ".safetensors", func(p string) (mappedFile, error) { return safetensors.Open(p) }},
	{"pytorch_model.bin", "pytorch_model.bin.index.json", ".bin", func(p string) (mappedFile, error) { return torchfile.Open(p) }},
}

// openWeights finds the weights of a directory: safetensors before PyTorch's own files, one file before the shards of an index.
func openWeights(dir string) (*weights, error) {
	for _, k := range kinds {
		path := filepath.Join(dir, k.single)
		if _, err := os.Stat(path); err == nil {
			w := &weights{name: path}
			return w, w.open(k, path)
		}
		path = filepath.Join(dir, k.index)
		if text, err := os.ReadFile(path); err == nil {
			return openShards(dir, path, text, k)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		found, err := filepath.Glob(filepath.Join(dir, "*"+k.suffix))
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(p string) bool { return filepath.Base(p) == "training_args.bin" })
		switch len(found) {
		case 0:
		case 1:
			w := &weights{name: found[0]}
			return w, w.open(k, found[0])
		default:
			return nil, fmt.Errorf("%s: holds %d %s files and no %s, which says which tensors lie where; download the index, too", dir, len(found), k.suffix, k.index)
		}
	}
	var other []string
	for _, pattern := range []string{"*.h5", "*.msgpack", "*.ckpt*", "*.gguf", "*.onnx", "onnx/*.onnx"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range found {
			other = append(other, filepath.Base(f))
		}
	}
	hint := "download the model's weights"
	if len(other) > 0 {
		hint = fmt.Sprintf("it holds %s, which cannot be imported: download the weights in one of these forms", strings.Join(other, ", "))
	}
	return nil, fmt.Errorf("%s: has no weights: expected model.safetensors, its shards with model.safetensors.index.json, or pytorch_model.bin; %s", dir, hint)
}

// openExtra adds what an export of a network of ours holds beside the network, if it does.
func (w *weights) openExtra(dir string) error {
	path := filepath.Join(dir, network.ExtraName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return err
	}
	w.files, w.read = append(w.files, f), append(w.read, path)
	for _, t := range f.Tensors() {
		if !network.IsExtra(t.Name) {
			return fmt.Errorf("%s: tensor %q: expected names that begin with %q or %q; take the file of the export again", path, t.Name, network.OrderPrefix, network.SchedulePrefix)
		}
		if slices.ContainsFunc(w.tensors, func(o safetensors.Tensor) bool { return o.Name == t.Name }) {
			return fmt.Errorf("%s: tensor %q lies in %s, too; take one of them away", path, t.Name, w.name)
		}
	}
	w.tensors = append(w.tensors, f.Tensors()...)
	return nil
}

// open adds the tensors of a file. What was opened before is closed after an error.
func (w *weights) open(k kind, path string) error {
	f, err := k.open(path)
	if err != nil {
		w.close()
		return err
	}
	w.files, w.read = append(w.files, f), append(w.read, path)
	w.tensors = append(w.tensors, f.Tensors()...)
	return nil
}
