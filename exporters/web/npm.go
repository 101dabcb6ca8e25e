package web

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// PackagesVariable names a folder that holds the archives of the packages, under the names that `npm pack` gives them, for machines without npm or
// without a network.
const PackagesVariable = "PAGE_PACKAGES"

const (
	runtimeVersion   = "1.30.0"
	tokenizerVersion = "0.2.0"
)

// pinned is a package of npm: what its archive must be, and the files that are taken out of it, with their places in an export.
type pinned struct {
	name, version, sha512 string // sha512 in base64, as npm calls it integrity
	files                 map[string]string
}

// Modules are called .js, as many file servers know no other ending for JavaScript.
var packages = []pinned{
	{"onnxruntime-web", runtimeVersion, "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==", map[string]string{
		"dist/ort.wasm.min.mjs":            "vendor/onnxruntime-web/ort.wasm.min.js",
		"dist/ort-wasm-simd-threaded.mjs":  "vendor/onnxruntime-web/ort-wasm-simd-threaded.js",
		"dist/ort-wasm-simd-threaded.wasm": "vendor/onnxruntime-web/ort-wasm-simd-threaded.wasm",
	}},
	{"@huggingface/tokenizers", tokenizerVersion, "LidMHe1FpcSYH4vcSjXooda34pC0M8m1gmDOv7SQi6Iv+ib1zX7J3sHBCC9/3FPCkn2k1b55FneVqMRxrr99pg==", map[string]string{
		"dist/tokenizers.min.mjs": "vendor/tokenizers/tokenizers.js",
		"LICENSE":                 "vendor/tokenizers/LICENSE",
	}},
}

// maxPacked bounds the file of a package in an archive.
const maxPacked = 64 << 20

// archive is the package's name as `npm pack` writes it.
func (p pinned) archive() string {
	return strings.ReplaceAll(strings.TrimPrefix(p.name, "@"), "/", "-") + "-" + p.version + ".tgz"
}

// vendor adds the files of the packages.
func vendor(ctx context.Context, o exporters.Options, files wholefile.Files) error {
	for _, p := range packages {
		archive, err := p.fetch(ctx, o)
		if err != nil {
			return err
		}
		if err := p.unpack(archive, files); err != nil {
			return fmt.Errorf("npm package %s: %w", p.archive(), err)
		}
	}
	return nil
}

// fetch reads the archive from the folder that [PackagesVariable] names, from the user's cache, or through the npm client, so that their registry and
// proxies apply.
func (p pinned) fetch(ctx context.Context, o exporters.Options) ([]byte, error) {
	if dir := os.Getenv(PackagesVariable); dir != "" {
		b, err := os.ReadFile(filepath.Join(dir, p.archive()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w; put %s there (`npm pack %s@%s`), or unset %s", PackagesVariable, err, p.archive(), p.name, p.version, PackagesVariable)
		}
		if err := p.check(b); err != nil {
			return nil, fmt.Errorf("%s: %w; pack it again", filepath.Join(dir, p.archive()), err)
		}
		return b, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("npm packages: %w; set HOME or XDG_CACHE_HOME", err)
	}
	file := filepath.Join(cache, "mdmhost", "npm", p.archive())
	if b, err := os.ReadFile(file); err == nil && p.check(b) == nil {
		return b, nil
	}
	b, err := p.pack(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return b, wholefile.ReplaceBytes(file, b)
}

// pack lets npm fetch the archive.
func (p pinned) pack(ctx context.Context, o exporters.Options) ([]byte, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return nil, fmt.Errorf("npm is not found, which fetches %s %s for the page; install Node.js with npm, or name a folder with %s in %s", p.name, p.version, p.archive(), PackagesVariable)
	}
	if o.Progress != nil {
		o.Progress(fmt.Sprintf("fetching %s %s with npm", p.name, p.version))
	}
	dir, err := os.MkdirTemp("", "mdmhost-npm-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of the system's temporary ones
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", p.name+"@"+p.version)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("npm pack %s@%s: %w: %s; check the network and npm's configuration, or name a folder with %s in %s", p.name, p.version, err, bytes.TrimSpace(said), p.archive(), PackagesVariable)
	}
	b, err := os.ReadFile(filepath.Join(dir, p.archive()))
	if err != nil {
		return nil, fmt.Errorf("npm pack %s@%s: left no %s: %w", p.name, p.version, p.archive(), err)
	}
	if err := p.check(b); err != nil {
		return nil, fmt.Errorf("npm pack %s@%s: %w; try again, or another registry", p.name, p.version, err)
	}
	return b, nil
}

// check holds an archive against its checksum.
func (p pinned) check(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != p.sha512 {
		return fmt.Errorf("has sha512 %s, expected %s", got, p.sha512)
	}
	return nil
}

// unpack takes the wanted files out of the archive, and nothing else.
func (p pinned) unpack(archive []byte, files wholefile.Files) error {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	missing := len(p.files)
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		to, wanted := p.files[strings.TrimPrefix(h.Name, "package/")]
		if !wanted {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(in, maxPacked))
		if err != nil {
			return err
		}
		files[to] = wholefile.Bytes(b)
		missing--
	}
	if missing > 0 {
		return fmt.Errorf("lacks %d of %d files: %w", missing, len(p.files), fs.ErrNotExist)
	}
	return nil
}
