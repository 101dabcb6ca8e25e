package install

import (
	"os"
	"strings"
	"testing"
)

// Every pin file names the release that the constants name, and its main library first.
func TestPins(t *testing.T) {
	entries, err := pins.ReadDir("pins")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2*len(Variants()) {
		t.Errorf("%d files, expected two platforms of %v", len(entries), Variants())
	}
	checked, err := os.ReadFile("../../scripts/onnxruntime.sha256")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		variant, platform, _ := strings.Cut(strings.TrimSuffix(e.Name(), ".txt"), "-")
		r, err := pinned(variant, platform)
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		want, version := "libonnxruntime.so."+ONNXRuntimeVersion, ONNXRuntimeVersion
		if variant == OpenVINO {
			want, version = "libopenvino_c.so.2641", OpenVINOVersion
		}
		if _, got := r.wheels[0].distribution(); r.main() != want || got != version {
			t.Errorf("%s: %s of %s, expected %s of %s", e.Name(), r.main(), got, want, version)
		}
		machine := map[string]string{"linux-amd64": "x86_64", "linux-arm64": "aarch64"}[platform]
		for _, w := range r.wheels {
			for _, tag := range w.platforms() {
				if !strings.HasSuffix(tag, machine) {
					t.Errorf("%s: %s is for another machine", e.Name(), w.file)
				}
			}
		}
		if variant == CPU { // set-up of the project pins the same
			for _, f := range r.files() {
				expect(t, string(checked), f.sha256+"  "+machine+"/"+f.name()+"\n")
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{func() error { _, err := Install(t.Context(), "tpu", Options{Dir: t.TempDir()}); return err }(), `runtime install: variant "tpu" is unknown; use cpu, cuda, openvino`},
		{func() error { _, err := pinned(CUDA, "plan9-386"); return err }(), "no cuda libraries are pinned for plan9-386; fetch ONNX Runtime"},
		{func() error {
			_, err := Install(t.Context(), CPU, Options{Dir: t.TempDir(), Torch: t.TempDir()})
			return err
		}(), "runtime install: --torch goes with the variant cuda alone"},
	} {
		if c.err == nil {
			t.Errorf("no error, want %q", c.want)
		} else {
			expect(t, c.err.Error(), c.want)
		}
	}
}

// Where a variant is found once it is there.
func TestLibrary(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, v := range Variants() {
		if got := Library(v); got != "" {
			t.Errorf("%s: found %s in an empty folder", v, got)
		}
		dir, err := Dir(v)
		if err != nil {
			t.Fatal(err)
		}
		main := map[bool]string{true: "libopenvino_c.so.2641", false: "libonnxruntime.so." + ONNXRuntimeVersion}[v == OpenVINO]
		write(t, dir+"/"+main, "")
		if got := Library(v); got != dir+"/"+main {
			t.Errorf("%s: found %q", v, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	hash := strings.Repeat("a", 64)
	f.Add("# c\nwheel a-1-py3-none-any.whl " + hash + " 1\nfile a/b.so " + hash + " 2\n")
	f.Add("file a/b.so " + hash + " 2\n")
	f.Add("wheel a-1-py3-none-any.whl " + hash + " -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, file := range r.files() {
			if seen[file.name()] || strings.Contains(file.name(), "/") || file.bytes < 0 {
				t.Errorf("took %+v", file)
			}
			seen[file.name()] = true
		}
		if !seen[r.main()] || r.installed() < 0 && len(text) < 100 {
			t.Errorf("main %q of %v", r.main(), seen)
		}
		for _, w := range r.wheels {
			if name, version := w.distribution(); name == "" && version == "" && len(w.platforms()) == 0 {
				t.Errorf("a wheel without a name: %+v", w)
			}
		}
	})
}
