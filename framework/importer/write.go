package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
	"github.com/mdmhost/mdmhost/framework/network/family"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// chunk is how much of a tensor is read, checked, hashed, written and forgotten at once, in bytes.
const chunk = 1 << 20

const weightsName = "model.safetensors"

// writer writes the model directory.
type writer struct {
	ctx       context.Context
	recipe    *family.Recipe
	tokenizer *words
	weights   *weights
	tensors   []safetensors.Tensor // in the order of the file
	said      about                // of a model of this framework
	dir       string
	notices   []string // names of files that are copied as they are: licences
	read      []string // paths of the files that the model comes from
	version   string
	screen    *screen

	files []model.File // that were written
}

// write writes the directory and returns the model's digest.
func (w *writer) write(out string) (digest string, err error) {
	tensors, metadata := w.tensors, map[string]string{"format": "pt"}
	layout, err := network.LayoutOf(tensors, metadata)
	if err != nil {
		return "", err
	}
	onnx, err := network.ExportLinked(w.recipe.Config, layout, weightsName, network.ExportOptions{})
	if err != nil {
		return "", err
	}
	config, err := w.recipe.Config.JSON(w.tokenizer.special, safetensors.DType(precisions(tensors)[0]))
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(w.ctx)
	sources := make(chan hashed, 1)
	go func() {
		defer close(sources)
		sources <- w.hashSources(ctx)
	}()
	defer func() {
		cancel()
		for range sources { //nolint:revive // until it ended
		}
	}()
	files := wholefile.Files{
		"config.json":    w.counted("config.json", wholefile.Bytes(config)),
		"tokenizer.json": w.counted("tokenizer.json", wholefile.Bytes(w.tokenizer.file)),
		"model.onnx":     w.counted("model.onnx", wholefile.Bytes(onnx.Encode())),
		weightsName:      w.counted(weightsName, func(to io.Writer) error { return w.stream(to, tensors, metadata) }),
	}
	if w.said.generation != nil {
		files[generationName] = w.counted(generationName, wholefile.Bytes(w.said.generation))
	}
	for _, name := range w.notices {
		files[name] = func(to io.Writer) error { return copyFile(to, filepath.Join(w.dir, name)) }
	}
	err = wholefile.ReplaceDir(out, files, func(written string) error {
		from := <-sources
		if from.err != nil {
			return from.err
		}
		if err := w.manifest(filepath.Join(written, manifestName), from.digests); err != nil {
			return err
		}
		return w.open(written)
	}, manifestName)
	if err != nil {
		return "", err
	}
	slices.SortFunc(w.files, func(a, b model.File) int { return strings.Compare(a.Name, b.Name) })
	return model.DigestOf(w.files), nil
}

// counted hashes what a file's function writes.
func (w *writer) counted(name string, write func(io.Writer) error) func(io.Writer) error {
	return func(to io.Writer) error {
		h := &counter{to: to, hash: sha256.New()}
		err := write(h)
		w.files = append(w.files, model.File{Name: name, Bytes: h.n, SHA256: hex.EncodeToString(h.hash.Sum(nil))})
		return err
	}
}

type counter struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

func (c *counter) Write(b []byte) (int, error) {
	c.hash.Write(b) // never fails
	c.n += int64(len(b))
	return c.to.Write(b)
}

// stream writes model.safetensors, and refuses elements that are no numbers.
func (w *writer) stream(to io.Writer, tensors []safetensors.Tensor, metadata map[string]string) error {
	head, err := safetensors.Header(tensors, metadata)
	if err != nil {
		return err
	}
	if _, err := to.Write(head); err != nil {
		return err
	}
	for _, t := range tensors {
		for at := 0; at < len(t.Data); at += chunk {
			part := t.Data[at:min(at+chunk, len(t.Data))]
			if err := errors.Join(w.ctx.Err(), finite(t, at, part)); err != nil {
				return err
			}
			if _, err := to.Write(part); err != nil {
				return err
			}
			w.weights.release(part)
			w.screen.add(len(part))
		}
	}
	return nil
}

// finite refuses infinities and what is no number in a part of a tensor that begins at a byte.
func finite(t safetensors.Tensor, at int, part []byte) error {
	i := safetensors.NotFinite(t.DType, part)
	if i < 0 {
		return nil
	}
	return fmt.Errorf("tensor %q: element %d is infinite or not a number; take another checkpoint of the model", t.Name, at/int(t.DType.Size())+i)
}

// open opens what was written as a test.
func (w *writer) open(dir string) error {
	var options []model.Option
	if w.recipe.Config.Judges() || w.said.manifest != nil && w.said.manifest.Planner != nil {
		options = append(options, model.AsPlanner())
	}
	m, err := model.Open(dir, options...)
	if err != nil {
		return err
	}
	_, err = m.Exponents()
	return err
}

// manifest is mdm.json: it describes the model, and says what it comes from.
func (w *writer) manifest(path string, sources map[string]string) error {
	digests := map[string]string{}
	for _, f := range w.files {
		if f.Name != "config.json" && f.Name != generationName {
			digests[f.Name] = f.SHA256
		}
	}
	m, err := w.recipe.Config.Manifest(w.said.manifest, digests)
	if err != nil {
		return err
	}
	m.Origin = &model.Origin{Importer: "mdmhost " + w.version, ModelType: w.recipe.ModelType, Files: sources}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return err
	}
	return wholefile.Replace(path, w.counted(manifestName, wholefile.Bytes(b.Bytes())))
}

func copyFile(to io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, f)
	return errors.Join(err, f.Close())
}

// hashed are the digests of the files that the model comes from, by name.
type hashed struct {
	digests map[string]string
	err     error
}

func (w *writer) hashSources(ctx context.Context) hashed {
	out := hashed{digests: map[string]string{}}
	for _, path := range w.read {
		if out.digests[filepath.Base(path)], out.err = hashFile(ctx, path); out.err != nil {
			return out
		}
	}
	return out
}

func hashFile(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	h, b := sha256.New(), make([]byte, chunk)
	for {
		n, err := f.Read(b)
		h.Write(b[:n])
		switch {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}
