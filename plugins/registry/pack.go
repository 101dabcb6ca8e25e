package registry

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mdmhost/mdmhost/framework/wholefile"
)

// Packed is what was packed.
type Packed struct {
	Plugin *Plugin
	Sums   Sums
}

// Pack writes the plugin in a folder, with its SHA256SUMS, as a .tar.gz or as an OCI artifact of type [ArtifactType]: out is a file
// or oci:LAYOUT:TAG. The same files make the same bytes. A plugin whose declared files are not all there is refused.
func Pack(ctx context.Context, dir, out string) (*Packed, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	p := &Plugin{Name: m.Name, Path: dir, Place: Given, Manifest: m}
	f, err := openFolder(dir, m) // what is packed is what is there: an old SHA256SUMS does not count
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer f.root.Close() //nolint:errcheck // only read
	packed := &Packed{Plugin: p}
	if packed.Sums, err = f.declared(); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	write := func(w io.Writer) error {
		return writeArchive(w, f.root, m.Name+"-"+m.Version, m.programs(), packed.Sums)
	}
	if strings.HasPrefix(out, ociPrefix) {
		err = packOCI(ctx, out, m, packed.Sums, write)
	} else {
		err = wholefile.Replace(out, write)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p, out, err)
	}
	return packed, nil
}

func packOCI(ctx context.Context, out string, m *Manifest, sums Sums, write func(io.Writer) error) error {
	layout, tag := splitOCI(out)
	if layout == "" || tag == "" {
		return invalid(out, "expected oci:LAYOUT:TAG", "give a tag, such as "+ociPrefix+filepath.Base(layout)+":"+m.Version)
	}
	archive, err := os.CreateTemp("", "mdmhost-plugin-*.tar.gz")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name()) //nolint:errcheck // the system's folder for such files
	defer archive.Close()           //nolint:errcheck // what was written is read again below
	if err := write(archive); err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return push(ctx, archive, layout, tag, m, sums)
}
