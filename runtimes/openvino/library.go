package openvino

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mdmhost/mdmhost/runtimes/install"
	"github.com/mdmhost/mdmhost/runtimes/openvino/internal/capi"
)

// LibraryVariable is the environment variable that names the library.
const LibraryVariable = "OPENVINO_SHARED_LIBRARY_PATH"

// libraryName is how the names of the library begin.
const libraryName = "libopenvino_c."

// FindLibrary returns the path of OpenVINO's C library: path if it is given, the environment variable OPENVINO_SHARED_LIBRARY_PATH, then
// what `mdmhost runtime install openvino` installed. Both may be a folder, such as openvino/libs of the Python package. OpenVINO's other
// libraries lie beside it.
func FindLibrary(path string) (string, error) {
	for _, given := range []struct{ who, path string }{{"runtime.library", path}, {LibraryVariable, os.Getenv(LibraryVariable)}} {
		if given.path == "" {
			continue
		}
		info, err := os.Stat(given.path)
		if err != nil {
			return "", fmt.Errorf("%s: %w; give the path of %sso, or run `mdmhost runtime install openvino`", given.who, err, libraryName)
		}
		if !info.IsDir() {
			return filepath.Abs(given.path)
		}
		files, _ := filepath.Glob(filepath.Join(given.path, libraryName+"*"))
		if len(files) == 0 {
			return "", fmt.Errorf("%s: %s holds no %sso; give the file, or run `mdmhost runtime install openvino`", given.who, given.path, libraryName)
		}
		return filepath.Abs(files[len(files)-1])
	}
	if path := install.Library(install.OpenVINO); path != "" {
		return path, nil
	}
	dir, err := install.Dir(install.OpenVINO)
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("OpenVINO: no %sso in %s; run `mdmhost runtime install openvino`, or name the file in runtime.library or %s", libraryName, dir, LibraryVariable)
}

// process is OpenVINO's state: one per process, made by the first Open and never destroyed, because sessions and threads point into it.
var process struct {
	sync.Mutex
	library *capi.Library
}

// load loads the library, once.
func load(path string) (*capi.Library, error) {
	process.Lock()
	defer process.Unlock()
	have := process.library
	if have != nil && path == "" {
		return have, nil
	}
	found, err := FindLibrary(path)
	if err != nil {
		return nil, err
	}
	if have != nil {
		if !sameFile(found, have.Path) {
			return nil, fmt.Errorf("runtime.library %s: this process already runs %s; use one library per process", found, have.Path)
		}
		return have, nil
	}
	library, err := capi.Open(found)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be loaded as OpenVINO: %w; run `mdmhost runtime install openvino` for one that can", found, err)
	}
	process.library = library
	return library, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// release is the number in the version of a library, such as 2026.4.1.
func release(version string) string {
	number, _, _ := strings.Cut(version, "-")
	return cmp.Or(number, "of an unknown version")
}
