package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/runtimes/install"
)

// Providers of GPUs take the library for CUDA where it is installed, and others the one for the CPU; each takes what there is.
func TestLibraryOfProvider(t *testing.T) {
	t.Setenv(LibraryVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	var paths []string
	for _, variant := range []string{install.CPU, install.CUDA} {
		dir, err := install.Dir(variant)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, filepath.Join(dir, "libonnxruntime.so."+Version))
	}
	expect := func(provider, want string) {
		t.Helper()
		if got, err := findLibrary("", provider); got != want || err != nil {
			t.Errorf("provider %q takes %s (%v), want %s", provider, got, err, want)
		}
	}
	put := func(path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(paths[0])
	expect("cuda", paths[0])
	put(paths[1])
	expect("", paths[0])
	expect("cpu", paths[0])
	for _, provider := range []string{"cuda", "auto", "tensorrt"} {
		expect(provider, paths[1])
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	expect("cpu", paths[1])
}

// A process that runs the library for the CPU says so to a provider that would take the other one.
func TestOneLibraryPerProcess(t *testing.T) {
	first, err := load("", "cpu")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(LibraryVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, err := install.Dir(install.CUDA)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "libonnxruntime.so."+Version)
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := load("", "auto"); again != first || err != nil {
		t.Errorf("auto got another library (%v)", err)
	}
	_, err = load("", "cuda")
	if err == nil || !strings.Contains(err.Error(), "already runs "+first.Path) || !strings.Contains(err.Error(), "name "+other+" as runtime.library") {
		t.Errorf("cuda got %v", err)
	}
}
