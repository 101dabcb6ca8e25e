package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/runtimes/install"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// Version is the release of ONNX Runtime that `mdmhost runtime install` fetches and that the project is tested with.
const Version = install.ONNXRuntimeVersion

// LibraryVariable is the environment variable that names the library.
const LibraryVariable = "ONNXRUNTIME_SHARED_LIBRARY_PATH"

// requirement is what a library must be, for messages.
var requirement = fmt.Sprintf("1.%d", capi.API)

// FindLibrary returns the path of the ONNX Runtime library: path if it is given, the environment variable
// ONNXRUNTIME_SHARED_LIBRARY_PATH, the folder of `mdmhost runtime install`, then third_party/ort beside the program or its parent folder,
// in the working directory and in the folders above it up to one with a go.mod. The error of a missing library lists where it looked.
func FindLibrary(path string) (string, error) { return findLibrary(path, "") }

// findLibrary is FindLibrary for a provider. A process has one library, that of the model which it opens first: the one for CUDA runs
// models on the CPU, too, but only models that may run on a GPU are worth its size.
func findLibrary(path, provider string) (string, error) {
	for _, given := range []struct{ who, path string }{{"runtime: library", path}, {LibraryVariable, os.Getenv(LibraryVariable)}} {
		if given.path == "" {
			continue
		}
		if info, err := os.Stat(given.path); err != nil {
			return "", fmt.Errorf("%s: %w; give the path of libonnxruntime, or run `mdmhost runtime install`", given.who, err)
		} else if info.IsDir() {
			if file := inDir(given.path); file != "" {
				return file, nil
			}
			return "", fmt.Errorf("%s: %s holds no %s; give the file, or run `mdmhost runtime install`", given.who, given.path, libraryName)
		}
		return given.path, nil
	}
	dirs := searchDirs()
	if dir, err := install.Dir(install.CUDA); err == nil {
		if provider == "" || provider == "cpu" {
			dirs = append(dirs, dir)
		} else {
			dirs = append([]string{dir}, dirs...)
		}
	}
	for _, dir := range dirs {
		if file := inDir(dir); file != "" {
			return file, nil
		}
	}
	return "", fmt.Errorf("ONNX Runtime: no %s in %s; run `mdmhost runtime install`, or name the file in %s", libraryName, strings.Join(dirs, ", "), LibraryVariable)
}

var libraryName = map[string]string{"darwin": "libonnxruntime.dylib"}[runtime.GOOS]

func init() {
	if libraryName == "" {
		libraryName = "libonnxruntime.so"
	}
}

// inDir returns the newest library of a folder, or "".
func inDir(dir string) string {
	stem, ext := strings.TrimSuffix(libraryName, filepath.Ext(libraryName)), filepath.Ext(libraryName)
	files, _ := filepath.Glob(filepath.Join(dir, stem+"*"+ext+"*"))
	var found []string
	for _, f := range files {
		if rest := strings.TrimPrefix(filepath.Base(f), stem); rest[0] == '.' { // not libonnxruntime_providers_shared.so
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return ""
	}
	sort.Slice(found, func(i, j int) bool {
		return len(found[i]) < len(found[j]) || len(found[i]) == len(found[j]) && found[i] < found[j]
	})
	return found[len(found)-1]
}

func searchDirs() []string {
	var dirs []string
	add := func(dir string) {
		for _, d := range dirs {
			if d == dir {
				return
			}
		}
		dirs = append(dirs, dir)
	}
	if dir, err := install.Dir(install.CPU); err == nil {
		add(dir)
	}
	const ours = "third_party/ort"
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		add(filepath.Join(filepath.Dir(exe), ours))
		add(filepath.Join(filepath.Dir(exe), "..", ours))
	}
	if wd, err := os.Getwd(); err == nil {
		add(filepath.Join(wd, ours))
		for dir := wd; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				add(filepath.Join(dir, ours))
				break
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return dirs
}

// environment is ONNX Runtime's state: one per process, made by the first Open and never destroyed, because sessions,
// threads and registered operators point into it.
var environment struct {
	sync.Mutex
	library *capi.Library
}

// load loads the library, that of path or the one for the provider, and starts ONNX Runtime, once.
func load(path, provider string) (*capi.Library, error) {
	env := &environment
	env.Lock()
	defer env.Unlock()
	if env.library != nil && path == "" {
		if provider == "" || provider == "cpu" || provider == "auto" {
			return env.library, nil
		}
		if better, err := findLibrary("", provider); err == nil && !sameFile(better, env.library.Path) {
			return nil, fmt.Errorf("provider %s: this process already runs %s, which provider cpu took; a process has one library: name %s as runtime.library, which runs on the CPU, too", provider, env.library.Path, better)
		}
		return env.library, nil
	}
	found, err := findLibrary(path, provider)
	if err != nil {
		return nil, err
	}
	if env.library != nil {
		if !sameFile(found, env.library.Path) {
			return nil, fmt.Errorf("runtime: library %s: this process already runs %s; use one library per process", found, env.library.Path)
		}
		return env.library, nil
	}
	library, err := openLibrary(found)
	if err != nil {
		return nil, err
	}
	ort.SetSharedLibraryPath(found)
	quiet()
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		return nil, fmt.Errorf("%s: ONNX Runtime does not start: %w; try `mdmhost runtime check`", found, err)
	}
	env.library = library
	return library, nil
}

// quiet keeps the library from reporting its use to its maker and from leaving an identifier in the folder for temporary
// files: what people sample is nobody's business. Who wants it sets ORT_DISABLE_TELEMETRY=0.
func quiet() {
	const name = "ORT_DISABLE_TELEMETRY"
	if _, set := os.LookupEnv(name); !set {
		_ = os.Setenv(name, "1") // fails for malformed names only
	}
}

// openLibrary turns the ways in which a file is no usable library into messages.
func openLibrary(path string) (*capi.Library, error) {
	library, err := capi.Open(path)
	switch {
	case errors.Is(err, capi.ErrTooOld):
		return nil, fmt.Errorf("%s is ONNX Runtime %s, this build needs %s or newer; run `mdmhost runtime install`, or name a newer library in %s", path, library.Version, requirement, LibraryVariable)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot be loaded as ONNX Runtime: %w; run `mdmhost runtime install` for one that can", path, err)
	}
	return library, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
