package onnx

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// pinned is a file of the Python wheel and the sha256 that it must have.
type pinned struct{ name, sha256 string }

// release is the library for one platform: which wheel pip is asked for, and the files to take from it.
type release struct {
	platform string
	files    []pinned
}

var releases = map[string]release{
	"linux/amd64": {"manylinux_2_28_x86_64", []pinned{
		{"libonnxruntime.so." + Version, "fc44112fbe06d7d689c57e11d3862031f64711007e4ee020f8eed5185fd2c1d3"},
		{"libonnxruntime_providers_shared.so", "086ec1d5388f64153d9c63470d126693db9a182c8ce236d3a1119068471b8a0d"},
	}},
}

// Install fetches the ONNX Runtime library into dir ("" = the folder that FindLibrary looks into) and returns its path. It
// drives the pip client, so that a user's mirrors and proxies apply, checks every file against a pinned checksum, and puts
// them into place with renames. What pip says goes to progress. The only variant so far is "cpu".
func Install(ctx context.Context, dir, variant string, progress io.Writer) (string, error) {
	if variant != "" && variant != "cpu" {
		return "", fmt.Errorf("runtime install: variant %q is unknown; use cpu. For CUDA, put the libonnxruntime* files of onnxruntime-gpu %s and the nvidia libraries into folders and name them in runtime.library and runtime.library_dirs", variant, Version)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	wanted, ok := releases[platform]
	if !ok {
		return "", fmt.Errorf("runtime install: no library is pinned for %s; fetch ONNX Runtime %s yourself and name it in %s", platform, Version, LibraryVariable)
	}
	if dir == "" {
		var err error
		if dir, err = InstallDir(); err != nil {
			return "", err
		}
	}
	target := filepath.Join(dir, wanted.files[0].name)
	if verify(dir, wanted) == nil {
		fmt.Fprintf(progress, "ONNX Runtime %s is there already: %s\n", Version, target)
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("runtime install: %w; give another folder", err)
	}
	temp, err := os.MkdirTemp(dir, ".install-*") // in dir, so that renames stay on one file system
	if err != nil {
		return "", fmt.Errorf("runtime install: %w; give another folder", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	wheel, err := download(ctx, temp, wanted, progress)
	if err != nil {
		return "", err
	}
	if err := unpack(wheel, temp, wanted); err != nil {
		return "", fmt.Errorf("runtime install: %w", err)
	}
	if err := verify(temp, wanted); err != nil {
		return "", fmt.Errorf("runtime install: %w; nothing was installed, try again or another mirror", err)
	}
	for i := len(wanted.files) - 1; i >= 0; i-- { // the main library last: whoever finds it finds all
		name := wanted.files[i].name
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil {
			return "", fmt.Errorf("runtime install: %w", err)
		}
	}
	fmt.Fprintf(progress, "ONNX Runtime %s installed: %s\n", Version, target)
	return target, nil
}

// download has pip fetch the wheel, whatever Python it runs on, and returns its path.
func download(ctx context.Context, temp string, wanted release, progress io.Writer) (string, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("runtime install: python3 is not found (%w); install Python 3 with pip, or fetch ONNX Runtime %s yourself and name it in %s", err, Version, LibraryVariable)
	}
	if out, err := exec.CommandContext(ctx, python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		return "", fmt.Errorf("runtime install: %s has no pip (%s); install it (Debian: apt install python3-pip)", python, strings.TrimSpace(string(out)))
	}
	fmt.Fprintf(progress, "fetching onnxruntime %s (about 24 MB) with pip\n", Version)
	pip := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
		"--implementation", "cp", "--python-version", "3.12", "--platform", wanted.platform, "--dest", temp, "onnxruntime=="+Version)
	pip.Stdout, pip.Stderr = progress, progress
	if err := pip.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("runtime install: pip download failed: %w; its messages are above, check the network and pip's configuration", err)
	}
	wheels, _ := filepath.Glob(filepath.Join(temp, "*.whl"))
	if len(wheels) != 1 {
		return "", fmt.Errorf("runtime install: pip left %d wheels, expected one; try again", len(wheels))
	}
	return wheels[0], nil
}

// unpack takes the wanted files out of the wheel, and nothing else.
func unpack(wheel, dir string, wanted release) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	for _, f := range wanted.files {
		in, err := archive.Open("onnxruntime/capi/" + f.name)
		if err != nil {
			return fmt.Errorf("%s: %w; it is another release than %s", filepath.Base(wheel), err, Version)
		}
		err = writeFile(filepath.Join(dir, f.name), in)
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, in io.Reader) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// verify checks the checksums of the files in dir.
func verify(dir string, wanted release) error {
	for _, f := range wanted.files {
		in, err := os.Open(filepath.Join(dir, f.name))
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, in)
		_ = in.Close()
		if err != nil {
			return err
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != f.sha256 {
			return fmt.Errorf("%s has sha256 %s, expected %s", f.name, got, f.sha256)
		}
	}
	return nil
}
