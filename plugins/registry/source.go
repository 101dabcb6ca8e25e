package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ociPrefix begins a source or target that is an OCI image layout: oci:LAYOUT[:TAG].
const ociPrefix = "oci:"

// splitOCI splits "oci:LAYOUT:TAG"; the tag may be empty.
func splitOCI(source string) (layout, tag string) {
	layout = strings.TrimPrefix(source, ociPrefix)
	if at := strings.LastIndexByte(layout, ':'); at >= 0 && !strings.ContainsAny(layout[at:], `/\`) {
		return layout[:at], layout[at+1:]
	}
	return layout, ""
}

// sourceFolder is the folder of a source; an archive and a layout are unpacked into an empty folder, scratch. digest is what a
// layout says of the plugin, else "".
func sourceFolder(ctx context.Context, source, scratch string) (dir, digest string, err error) {
	if strings.HasPrefix(source, ociPrefix) {
		layout, tag := splitOCI(source)
		dir, err = unpacked(scratch, func(into *os.Root) error {
			digest, err = pull(ctx, layout, tag, into)
			return err
		})
		return dir, digest, err
	}
	info, err := os.Stat(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", invalid("plugin from "+source, "there is nothing at this path", "name a folder, a .tar.gz or "+ociPrefix+"LAYOUT[:TAG]")
	case err != nil:
		return "", "", err
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", "", invalid("plugin from "+source, "is a pipe or a device", "name a folder, a .tar.gz or "+ociPrefix+"LAYOUT[:TAG]")
	case !info.IsDir():
		f, err := os.Open(source)
		if err != nil {
			return "", "", err
		}
		defer f.Close() //nolint:errcheck // only read
		dir, err = unpacked(scratch, func(into *os.Root) error { return readArchive(f, into) })
		return dir, "", err
	}
	if _, err := os.Stat(filepath.Join(source, ManifestFile)); err != nil {
		if _, layout := os.Stat(filepath.Join(source, "oci-layout")); layout == nil {
			return "", "", invalid("plugin from "+source, "is an OCI layout", "name it "+ociPrefix+source)
		}
		return "", "", invalid("plugin from "+source, "is a folder without a "+ManifestFile, "write one, as docs/plugins/trust.md shows")
	}
	return source, "", nil
}

// unpacked fills a folder and finds the plugin's in it: itself, or the only one in it.
func unpacked(dir string, fill func(*os.Root) error) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close() //nolint:errcheck // its files are closed
	if err := fill(root); err != nil {
		return "", err
	}
	for _, pattern := range []string{ManifestFile, "*/" + ManifestFile} {
		if found, err := fs.Glob(root.FS(), pattern); err == nil && len(found) == 1 {
			return filepath.Join(dir, filepath.Dir(filepath.FromSlash(found[0]))), nil
		}
	}
	return "", fmt.Errorf("holds no %s, or several; expected one plugin", ManifestFile)
}
