package registry_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mdmhost/mdmhost/plugins/registry"
)

// archive writes a .tar.gz of the plugin with further entries.
func archive(t *testing.T, path string, further ...*tar.Header) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"plugin.yaml": manifest, "run": "#!/bin/sh\n", "README.md": "calm", "lib/a.py": "a = 1\n"} {
		must(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/" + name, Size: int64(len(text)), Mode: 0o644}))
		_, err := w.Write([]byte(text))
		must(t, err)
	}
	for _, h := range further {
		must(t, w.WriteHeader(h))
	}
	must(t, errors.Join(w.Flush(), z.Close(), f.Close()))
}

// Archives of others may hold anything: nothing of it gets outside, and nothing is installed.
func TestArchivesThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		header tar.Header
		want   string
	}{
		"upwards":  {tar.Header{Typeflag: tar.TypeReg, Name: "../../../../evil"}, `"../../../../evil" leads out of the archive's own folder`},
		"absolute": {tar.Header{Typeflag: tar.TypeReg, Name: "/tmp/evil"}, `"/tmp/evil" leads out`},
		"within":   {tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/x/../../../evil"}, "leads out"},
		"newline":  {tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/a\nb"}, `"calm-0.1.0/a\nb": names of files hold no control characters and no backslashes; rename it`},
		"slashes":  {tar.Header{Typeflag: tar.TypeReg, Name: `calm-0.1.0/a\b`}, "names of files hold no control characters"},
		"link":     {tar.Header{Typeflag: tar.TypeSymlink, Name: "calm-0.1.0/lib/x", Linkname: "/etc"}, "calm-0.1.0/lib/x is a link or a device"},
		"hardlink": {tar.Header{Typeflag: tar.TypeLink, Name: "calm-0.1.0/x", Linkname: "/etc/passwd"}, "is a link or a device"},
		"device":   {tar.Header{Typeflag: tar.TypeChar, Name: "calm-0.1.0/x"}, "is a link or a device"},
		"fifo":     {tar.Header{Typeflag: tar.TypeFifo, Name: "calm-0.1.0/x"}, "is a link or a device"},
		"bomb":     {tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/x", Size: 1 << 40}, "is larger than 4096 MiB when it is unpacked"},
		"twice":    {tar.Header{Typeflag: tar.TypeReg, Name: "calm-0.1.0/run"}, "file exists"},
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t)
			c.header.Mode = 0o644
			f := "../evil.tar.gz"
			if c.header.Size > 0 {
				bomb(t, f, &c.header)
			} else {
				archive(t, f, &c.header)
			}
			_, _, err := install(t, p.Project, f, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("expected %q, found %v", c.want, err)
			}
			if all, err := os.ReadDir(".."); err != nil || len(all) != 2 {
				t.Errorf("beside the project there are %v, %v", all, err)
			}
			if len(tree(t, ".")) != 1 {
				t.Errorf("the project holds %v", tree(t, "."))
			}
		})
	}
}

// bomb writes an archive whose one entry claims to be large.
func bomb(t *testing.T, path string, h *tar.Header) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	z := gzip.NewWriter(f)
	must(t, tar.NewWriter(z).WriteHeader(h))
	must(t, errors.Join(z.Close(), f.Close()))
}

// A single byte that changed in an archive or a layout is found, or changes nothing that is installed.
func TestDamagedArchives(t *testing.T) {
	p := here(t)
	source := plugin(t, "../calm", nil)
	packed, err := registry.Pack(t.Context(), source, "../good.tar.gz")
	must(t, err)
	good := read(t, "../good.tar.gz")
	refused := 0
	for at := 0; at < len(good); at += 7 {
		bad := []byte(good)
		bad[at] ^= 0x10
		must(t, os.WriteFile("../bad.tar.gz", bad, 0o644))
		i, _, err := install(t, p.Project, "../bad.tar.gz", true)
		if err != nil {
			refused++
		} else if i.Digest != packed.Sums.Digest() { // a bit of a time stamp, say
			t.Fatalf("byte %d of %d: another plugin was installed", at, len(good))
		}
	}
	if refused < len(good)/7*9/10 {
		t.Errorf("%d of %d damaged archives were refused", refused, len(good)/7)
	}
	for _, length := range []int{0, 1, len(good) / 2, len(good) - 1} {
		must(t, os.WriteFile("../bad.tar.gz", []byte(good[:length]), 0o644))
		if _, _, err := install(t, p.Project, "../bad.tar.gz", true); err == nil {
			t.Errorf("an archive cut to %d of %d bytes was taken", length, len(good))
		}
	}
	_, err = registry.Pack(t.Context(), source, "oci:../layout:1")
	must(t, err)
	blobs, err := filepath.Glob("../layout/blobs/sha256/*")
	must(t, err)
	if len(blobs) != 3 { // layer, manifest, the empty configuration
		t.Fatalf("blobs %v", blobs)
	}
	for _, blob := range blobs {
		text := read(t, blob)
		if text == "{}" {
			continue // nobody reads it
		}
		must(t, os.Chmod(blob, 0o644))
		must(t, os.WriteFile(blob, []byte(text[:len(text)-1]+string(text[len(text)-1]^1)), 0o644))
		if _, _, err := install(t, p.Project, "oci:../layout", true); err == nil || !strings.Contains(err.Error(), "damaged archive") && !strings.Contains(err.Error(), "mismatched digest") {
			t.Errorf("%s: error %v", blob, err)
		}
		must(t, os.WriteFile(blob, []byte(text), 0o644))
	}
	_, _, err = install(t, p.Project, "oci:../layout", true)
	must(t, err)
}

// An artifact of another kind is none.
func TestForeignArtifact(t *testing.T) {
	p := here(t)
	write(t, "../layout/oci-layout", `{"imageLayoutVersion":"1.0.0"}`)
	write(t, "../layout/index.json", `{"schemaVersion":2,"manifests":[]}`)
	if _, _, err := install(t, p.Project, "oci:../layout", false); err == nil || !strings.Contains(err.Error(), "the layout holds no tags") {
		t.Errorf("error %v", err)
	}
	if _, _, err := install(t, p.Project, "../layout", false); err == nil || !strings.Contains(err.Error(), "is an OCI layout; name it oci:../layout") {
		t.Errorf("error %v", err)
	}
	if _, err := registry.Pack(t.Context(), plugin(t, "../calm", nil), "oci:../layout"); err == nil || !strings.Contains(err.Error(), "give a tag, such as oci:layout:0.1.0") {
		t.Errorf("error %v", err)
	}
}

// An artifact's annotation speaks of the files in its layer.
func TestArtifactOfOtherFiles(t *testing.T) {
	p := here(t)
	packed, err := registry.Pack(t.Context(), plugin(t, "../calm", nil), "oci:../layout:1")
	must(t, err)
	var index struct{ Manifests []struct{ Digest string } }
	must(t, json.Unmarshal([]byte(read(t, "../layout/index.json")), &index))
	old := strings.TrimPrefix(index.Manifests[0].Digest, "sha256:")
	text := strings.Replace(read(t, "../layout/blobs/sha256/"+old), packed.Sums.Digest(), "sha256:"+strings.Repeat("0", 64), 1)
	changed := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	write(t, "../layout/blobs/sha256/"+changed, text)
	write(t, "../layout/index.json", strings.ReplaceAll(read(t, "../layout/index.json"), old, changed))
	_, _, err = install(t, p.Project, "oci:../layout", false)
	if err == nil || !strings.Contains(err.Error(), "plugin from oci:../layout: its annotation dev.mdmhost.plugin.digest is sha256:0000") || !strings.Contains(err.Error(), "and its files are "+packed.Sums.Digest()+"; get it again") {
		t.Errorf("error %v", err)
	}
	if len(tree(t, ".")) != 1 {
		t.Errorf("the project holds %v", tree(t, "."))
	}
}
