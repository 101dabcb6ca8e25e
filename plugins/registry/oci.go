package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"
)

// What a plugin is called in OCI manifests.
const (
	ArtifactType = "application/vnd.mdmhost.plugin.v1"
	LayerType    = "application/vnd.mdmhost.plugin.v1.tar+gzip" // of its one layer
	KindKey      = "dev.mdmhost.plugin.kind"                    // annotation
	DigestKey    = "dev.mdmhost.plugin.digest"                  // annotation: see [Sums.Digest]
)

// maxManifest bounds what is read as a manifest.
const maxManifest = 4 << 20

// push writes an archive, from its beginning, into a layout, which is made where there is none, and tags it.
func push(ctx context.Context, archive *os.File, layout, tag string, m *Manifest, sums Sums) error {
	store, err := oci.NewWithContext(ctx, layout)
	if err != nil {
		return err
	}
	layer := ocispec.Descriptor{MediaType: LayerType}
	if layer.Digest, err = digest.FromReader(archive); err != nil {
		return err
	}
	if layer.Size, err = archive.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := store.Push(ctx, layer, archive); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
		return err
	}
	manifest, err := oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, ArtifactType, oras.PackManifestOptions{
		Layers: []ocispec.Descriptor{layer},
		ManifestAnnotations: map[string]string{
			ocispec.AnnotationTitle: m.Name, ocispec.AnnotationVersion: m.Version, ocispec.AnnotationDescription: m.Summary,
			ocispec.AnnotationLicenses: m.License, KindKey: string(m.Kind), DigestKey: sums.Digest(),
			ocispec.AnnotationCreated: "1970-01-01T00:00:00Z", // the same plugin makes the same manifest
		},
	})
	if err != nil {
		return err
	}
	return store.Tag(ctx, manifest, tag)
}

// pull unpacks the plugin of a tag. The tag may be left out where there is one. digest is what the artifact says of the plugin,
// see [Sums.Digest]; "" where it says nothing.
func pull(ctx context.Context, layout, tag string, into *os.Root) (digest string, err error) {
	if _, err := os.Stat(layout); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no folder %s; expected %sLAYOUT[:TAG], an OCI image layout on this disk", layout, ociPrefix)
	}
	store, err := oci.NewFromFS(ctx, os.DirFS(layout))
	if err != nil {
		return "", fmt.Errorf("expected an OCI image layout: %w", err)
	}
	if tag == "" {
		if tag, err = onlyTag(ctx, store); err != nil {
			return "", err
		}
	}
	at, err := store.Resolve(ctx, tag)
	if err != nil {
		_, also := onlyTag(ctx, store)
		return "", errors.Join(fmt.Errorf("tag %s: %w", tag, err), also)
	}
	if at.Size > maxManifest {
		return "", fmt.Errorf("tag %s: expected the manifest of a plugin, found %d bytes of %s", tag, at.Size, at.MediaType)
	}
	text, err := content.FetchAll(ctx, store, at)
	if err != nil {
		return "", damaged(err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return "", damaged(err)
	}
	if m.SchemaVersion != 2 || cmp.Or(m.ArtifactType, m.Config.MediaType) != ArtifactType || len(m.Layers) != 1 {
		return "", fmt.Errorf("tag %s: expected an artifact of type %s with one layer, found %q with %d; it is no plugin of mdmhost", tag, ArtifactType, m.ArtifactType, len(m.Layers))
	}
	layer, err := store.Fetch(ctx, m.Layers[0])
	if err != nil {
		return "", damaged(err)
	}
	defer layer.Close() //nolint:errcheck // only read
	verified := content.NewVerifyReader(layer, m.Layers[0])
	if err := readArchive(verified, into); err != nil {
		return "", err
	}
	return m.Annotations[DigestKey], damaged(verified.Verify())
}

// onlyTag is the tag of a layout that has one.
func onlyTag(ctx context.Context, store *oci.ReadOnlyStore) (string, error) {
	var all []string
	if err := store.Tags(ctx, "", func(tags []string) error {
		all = append(all, tags...)
		return nil
	}); err != nil {
		return "", err
	}
	slices.Sort(all)
	switch len(all) {
	case 0:
		return "", errors.New("the layout holds no tags; pack a plugin with `mdmhost plugin pack DIR --out oci:LAYOUT:TAG`")
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("the layout holds several tags: %s; name one", strings.Join(all, ", "))
}
