// Package install fetches the libraries that runtimes load, for those who only have the program: pinned Python wheels through the pip
// client, every file checked against a pinned checksum, a whole folder or nothing.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// The variants are sets of libraries, each in a folder of its own.
const (
	CPU      = "cpu"      // ONNX Runtime
	CUDA     = "cuda"     // ONNX Runtime with the CUDA and TensorRT providers, and the nvidia libraries that the first needs
	OpenVINO = "openvino" // OpenVINO with its CPU device
)

// The releases that are pinned.
const (
	ONNXRuntimeVersion = "1.31.1"
	OpenVINOVersion    = "2026.4.1"
)

// variant says what a variant is called in messages, and the folder below the cache that it goes to.
type variant struct{ title, folder string }

var variants = map[string]variant{
	CPU:      {"ONNX Runtime " + ONNXRuntimeVersion, filepath.Join("ort", ONNXRuntimeVersion)},
	CUDA:     {"ONNX Runtime " + ONNXRuntimeVersion + " for CUDA", filepath.Join("ort-cuda", ONNXRuntimeVersion)},
	OpenVINO: {"OpenVINO " + OpenVINOVersion, filepath.Join("openvino", OpenVINOVersion)},
}

// Variants are the names that [Install] takes.
func Variants() []string { return []string{CPU, CUDA, OpenVINO} }

// Options say where libraries come from and go to. The zero value fetches them into the folder of [Dir].
type Options struct {
	Dir      string    // folder for the libraries; "" is that of [Dir]
	From     string    // folder with the wheels, so that nothing is fetched; "" fetches them
	Torch    string    // site-packages of a PyTorch whose nvidia libraries take the place of fetched ones: links to them are made; "" fetches them
	Progress io.Writer // takes lines about what goes on; nil is silent
}

// Dir is the folder in the user's cache where Install puts a variant when no other is given, and where runtimes look for it.
func Dir(name string) (string, error) {
	v, err := known(name)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("runtime install: %w; set HOME or XDG_CACHE_HOME, or give a folder", err)
	}
	return filepath.Join(cache, "mdmhost", v.folder), nil
}

// Library returns the path of the main library of a variant in the folder of [Dir], or "" where it is not installed. It is libonnxruntime of
// CPU and CUDA, and libopenvino_c of OpenVINO. All other libraries of the variant lie beside it.
func Library(name string) string {
	dir, err := Dir(name)
	if err != nil {
		return ""
	}
	r, err := pinned(name, runtime.GOOS+"-"+runtime.GOARCH)
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, r.main())
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Install puts a variant into its folder and returns the path of its main library. It drives the pip client, so that a user's mirrors, proxies
// and cache apply. The folder appears whole or not at all, and one that holds the very files already is left alone. Errors: an
// unknown variant or platform, no pip, too little room on the disk, a checksum that differs, a folder that holds other files, ctx's end.
func Install(ctx context.Context, name string, o Options) (string, error) {
	if o.Dir == "" {
		var err error
		if o.Dir, err = Dir(name); err != nil {
			return "", err
		}
	}
	v, err := known(name)
	if err != nil {
		return "", err
	}
	wanted, err := pinned(name, runtime.GOOS+"-"+runtime.GOARCH)
	if err != nil {
		return "", err
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	path, err := put(ctx, v.title, wanted, o)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("runtime install: %w", err)
	}
	return path, err
}

func known(name string) (variant, error) {
	v, ok := variants[cmp.Or(name, CPU)]
	if !ok {
		return v, fmt.Errorf("runtime install: variant %q is unknown; use %s", name, strings.Join(Variants(), ", "))
	}
	return v, nil
}

// put brings the files of a release into o.Dir.
func put(ctx context.Context, title string, wanted release, o Options) (string, error) {
	target := filepath.Join(o.Dir, wanted.main())
	var links []link
	if o.Torch != "" {
		var err error
		if wanted, links, err = wanted.withTorch(o.Torch); err != nil {
			return "", err
		}
	}
	if wanted.verify(ctx, o.Dir) == nil && linked(o.Dir, links) {
		_, err := fmt.Fprintf(o.Progress, "%s is there already: %s\n", title, target)
		return target, err
	}
	had := fromPip
	if o.From != "" {
		had = fromFolder
	}
	from, err := had(ctx, wanted, o)
	if err != nil {
		return "", err
	}
	var names []string
	for _, f := range wanted.files() {
		names = append(names, f.name())
	}
	for _, l := range links {
		names = append(names, l.name)
	}
	err = wholefile.ReplaceDir(o.Dir, nil, func(dir string) error { return fill(ctx, dir, wanted, links, from) }, names...)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.Dir, err)
	}
	_, err = fmt.Fprintf(o.Progress, "%s installed: %s\n", title, target)
	return target, err
}

// A source has a wheel ready in a file as long as use runs. It may work in the folder temp.
type source func(ctx context.Context, w wheel, temp string, use func(path string) error) error

// fill puts libraries and links into dir, one wheel after the other, so that the disk never holds all wheels as well.
func fill(ctx context.Context, dir string, wanted release, links []link, from source) error {
	for _, w := range wanted.wheels {
		temp := filepath.Join(dir, ".wheel")
		if err := os.Mkdir(temp, 0o700); err != nil {
			return err
		}
		err := from(ctx, w, temp, func(path string) error { return w.unpack(ctx, path, dir) })
		if err := errors.Join(err, os.RemoveAll(temp)); err != nil {
			return err
		}
	}
	for _, l := range links {
		if err := os.Symlink(l.to, filepath.Join(dir, l.name)); err != nil {
			return err
		}
	}
	return nil
}
