package install

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The libraries of a PyTorch take the place of wheels, as links that are followed.
func TestTorch(t *testing.T) {
	from, r := shop(t)
	r.wheels = append(r.wheels, fake(t, from, "nvidia_dice", "nvidia/cu13/lib/libcurand.so.10")) // which this PyTorch lacks
	if err := os.Remove(filepath.Join(from, r.wheels[1].file)); err != nil {
		t.Fatal(err)
	}
	site := t.TempDir()
	dir := filepath.Join(t.TempDir(), "libraries")
	var said bytes.Buffer
	install := func(o Options) error {
		o.Dir, o.Progress = dir, &said
		_, err := put(t.Context(), "Engine 1", r, o)
		return err
	}
	lib := func(name string) string { return filepath.Join(site, "nvidia/cu13/lib", name) }
	write(t, lib("libcublas.so.12"), "old")
	if err := install(Options{From: from, Torch: site}); err == nil {
		t.Error("took an old CUDA")
	} else {
		expect(t, err.Error(), site+" has no libcublas.so.13, libcurand.so.10 below nvidia/*/lib", "CUDA 13")
	}
	if err := os.Remove(lib("libcublas.so.12")); err != nil {
		t.Fatal(err)
	}
	write(t, lib("libcublas.so.13"), "theirs")
	write(t, filepath.Join(site, "nvidia/cu13/lib/libcublas_new.so.13"), "theirs")
	write(t, filepath.Join(site, "nvidia/cudnn/lib/libother.so.9"), "not needed")
	if err := install(Options{From: from, Torch: site}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"libcublas.so.13", "libcublas_new.so.13", "libcurand.so.10", "libengine.so.1", "libengine_cuda.so"}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "libcublas.so.13")); string(got) != "theirs" {
		t.Errorf("read %q, %v", got, err)
	}
	said.Reset()
	if err := install(Options{From: "/nowhere", Torch: site}); err != nil {
		t.Error(err)
	}
	expect(t, said.String(), "is there already")

	// The whole set does not mix with what another PyTorch has cut differently.
	fake(t, from, "nvidia_maths", "nvidia/cu13/lib/libcublas.so.13", "nvidia/cu13/lib/libcublas_more.so.13")
	if err := install(Options{From: from}); err == nil {
		t.Error("mixed two sets")
	} else {
		expect(t, err.Error(), "holds libcublas_new.so.13")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := install(Options{From: from}); err != nil {
		t.Error(err)
	}
}
