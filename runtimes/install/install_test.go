package install

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake makes a wheel that pip takes for one, in dir, and its pin.
func fake(t *testing.T, dir, name string, files ...string) wheel {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name, text string) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w := wheel{pin: pin{file: name + "-1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"}}
	for _, f := range files {
		text := "the library " + f
		put(f, text)
		w.libraries = append(w.libraries, pinOf(f, []byte(text)))
	}
	put(name+"-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: "+name+"\nVersion: 1.0\n")
	put(name+"-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-manylinux_2_17_x86_64\n")
	put(name+"-1.0.dist-info/RECORD", "")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w.pin = pinOf(w.file, b.Bytes())
	write(t, filepath.Join(dir, w.file), b.String())
	return w
}

func pinOf(name string, content []byte) pin {
	return pin{name, fmt.Sprintf("%x", sha256.Sum256(content)), int64(len(content))}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shop is a folder with two wheels, and their release.
func shop(t *testing.T) (dir string, r release) {
	dir = t.TempDir()
	return dir, release{[]wheel{
		fake(t, dir, "engine", "engine/capi/libengine.so.1", "engine/capi/libengine_cuda.so"),
		fake(t, dir, "nvidia_maths", "nvidia/cu13/lib/libcublas.so.13", "nvidia/cu13/lib/libcublas_more.so.13"),
	}}
}

// names are the entries of a folder, hidden ones too; none if there is no folder.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

var all = []string{"libcublas.so.13", "libcublas_more.so.13", "libengine.so.1", "libengine_cuda.so"}

// The real pip fetches from a folder that stands for an index; a second run needs no pip at all.
func TestPip(t *testing.T) {
	from, r := shop(t)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", from)
	dir := filepath.Join(t.TempDir(), "a", "libraries")
	var said bytes.Buffer
	path, err := put(t.Context(), "Engine 1", r, Options{Dir: dir, Progress: &said})
	if want := filepath.Join(dir, "libengine.so.1"); err != nil || path != want {
		t.Fatalf("got %s (%v), want %s; pip said: %s", path, err, want, &said)
	}
	if diff := cmp.Diff(all, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"libraries"}, names(t, filepath.Dir(dir))); diff != "" {
		t.Error(diff)
	}
	expect(t, said.String(), "fetching 2 kB with pip", "Engine 1 installed: "+path)

	t.Setenv("PATH", t.TempDir())
	said.Reset()
	if again, err := put(t.Context(), "Engine 1", r, Options{Dir: dir, Progress: &said}); again != path || err != nil {
		t.Errorf("a second run: %s, %v", again, err)
	}
	expect(t, said.String(), "Engine 1 is there already")
}

// What pip brings is held against the pins.
func TestPipBringsAnother(t *testing.T) {
	from, r := shop(t)
	fake(t, from, "nvidia_maths", "nvidia/cu13/lib/libcublas.so.13", "nvidia/cu13/lib/something_else.so")
	python(t, `[ "$3" = download ] || exit 0; while [ "$1" != --dest ]; do shift; done; cp `+from+`/"$(echo "${3%==*}" | tr - _)"-*.whl "$2"`)
	dir := filepath.Join(t.TempDir(), "libraries")
	var said bytes.Buffer
	_, err := put(t.Context(), "Engine 1", r, Options{Dir: dir, Progress: &said})
	if err == nil {
		t.Fatal("took another wheel")
	}
	expect(t, err.Error(), "nvidia_maths-1.0", "has sha256", "nothing was installed")
	if left := names(t, filepath.Dir(dir)); left != nil {
		t.Errorf("left %v", left)
	}
}

// Wheels that are there need neither pip nor a network.
func TestFrom(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	from, r := shop(t)
	dir := filepath.Join(t.TempDir(), "libraries")
	install := func() error {
		_, err := put(t.Context(), "Engine 1", r, Options{Dir: dir, From: from, Progress: &bytes.Buffer{}})
		return err
	}
	second := filepath.Join(from, r.wheels[1].file)
	whole, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func()
		want   []string
	}{
		{"a wheel is missing", func() { _ = os.Remove(second) }, []string{from + " lacks nvidia_maths-1.0", "leave --from out"}},
		{"a wheel is cut off", func() { write(t, second, string(whole[:len(whole)/2])) }, []string{"nvidia_maths-1.0", "has sha256"}},
		{"a wheel is a folder", func() { write(t, filepath.Join(second, "x"), "") }, []string{"lacks nvidia_maths"}},
	} {
		if err := os.RemoveAll(second); err != nil {
			t.Fatal(err)
		}
		c.change()
		if err := install(); err == nil {
			t.Errorf("%s: no error", c.what)
		} else {
			expect(t, err.Error(), c.want...)
		}
		if left := names(t, filepath.Dir(dir)); left != nil {
			t.Errorf("%s: left %v", c.what, left)
		}
	}
	if err := os.RemoveAll(second); err != nil {
		t.Fatal(err)
	}
	write(t, second, string(whole))
	if err := install(); err != nil {
		t.Fatal(err)
	}

	// A library that was damaged is replaced; one of somebody else is left alone.
	write(t, filepath.Join(dir, "libcublas.so.13"), "the library nvidia/cu13/lib/libcublas.so.XX")
	if err := install(); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(t.Context(), dir); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(dir, "libcublas.so.13"), "damaged")
	write(t, filepath.Join(dir, "mine"), "precious")
	if err := install(); err == nil {
		t.Error("replaced a folder with a file that it does not know")
	} else {
		expect(t, err.Error(), dir+": holds mine", "nothing was changed")
	}
	if diff := cmp.Diff(append(slices.Clone(all), "mine"), names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A wheel whose pins name what it does not hold, or whose libraries differ, is refused.
func TestWheelAndPins(t *testing.T) {
	from, r := shop(t)
	for _, c := range []struct {
		what   string
		change func(*pin)
		want   string
	}{
		{"another file", func(p *pin) { p.file = "engine/capi/libother.so" }, "libother.so: file does not exist; it is another wheel"},
		{"another content", func(p *pin) { p.sha256 = strings.Repeat("0", 64) }, "expected 000"},
		{"another size", func(p *pin) { p.bytes++ }, "nothing was installed"},
	} {
		dir := filepath.Join(t.TempDir(), "libraries")
		changed := release{slices.Clone(r.wheels)}
		changed.wheels[0].libraries = slices.Clone(r.wheels[0].libraries)
		c.change(&changed.wheels[0].libraries[1])
		_, err := put(t.Context(), "Engine 1", changed, Options{Dir: dir, From: from, Progress: &bytes.Buffer{}})
		if err == nil {
			t.Fatalf("%s: no error", c.what)
		}
		expect(t, err.Error(), c.want)
		if left := names(t, filepath.Dir(dir)); left != nil {
			t.Errorf("%s: left %v", c.what, left)
		}
	}
}

// A disk that is too small is noticed before anything is fetched.
func TestNoRoom(t *testing.T) {
	from, r := shop(t)
	python(t, "exit 0")
	r.wheels[1].libraries[0].bytes = 1 << 60
	for _, o := range []Options{{From: from}, {}} {
		o.Dir, o.Progress = filepath.Join(t.TempDir(), "not", "there"), &bytes.Buffer{}
		_, err := put(t.Context(), "Engine 1", r, o)
		if err == nil {
			t.Fatal("began all the same")
		}
		expect(t, err.Error(), " free, and 1152921504.6 GB are needed; free some, or give another folder")
		if left := names(t, filepath.Dir(filepath.Dir(o.Dir))); left != nil {
			t.Errorf("left %v", left)
		}
	}
}

// A context that ends in the middle of a download leaves nothing.
func TestCancel(t *testing.T) {
	_, r := shop(t)
	started := filepath.Join(t.TempDir(), "started")
	python(t, `case "$*" in *download*) : > `+started+`; exec sleep 600;; esac`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(started); err == nil {
				cancel()
				return
			}
			if ctx.Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	dir := filepath.Join(t.TempDir(), "libraries")
	_, err := put(ctx, "Engine 1", r, Options{Dir: dir, Progress: &bytes.Buffer{}})
	cancel()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := names(t, filepath.Dir(dir)); left != nil {
		t.Errorf("left %v", left)
	}
}

// A Python that cannot do what is asked is explained.
func TestPipExplains(t *testing.T) {
	_, r := shop(t)
	var said bytes.Buffer
	for _, c := range []struct{ script, want string }{
		{"", "python3 is not found"},
		{"echo 'No module named pip' >&2; exit 1", "has no pip (No module named pip); install it"},
		{`[ "$3" = download ] || exit 0; echo 'no network' >&2; exit 1`, "pip download of engine 1.0 failed"},
		{`[ "$3" = download ] || exit 0`, "pip left 0 wheels of engine"},
	} {
		t.Setenv("PATH", t.TempDir())
		if c.script != "" {
			python(t, c.script)
		}
		dir := filepath.Join(t.TempDir(), "libraries")
		if _, err := put(t.Context(), "Engine 1", r, Options{Dir: dir, Progress: &said}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.script, err, c.want)
		}
		if left := names(t, filepath.Dir(dir)); left != nil {
			t.Errorf("%q: left %v", c.script, left)
		}
	}
	expect(t, said.String(), "no network")
}

// python puts a script into the place of Python.
func python(t *testing.T, script string) {
	t.Helper()
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "python3"), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	t.Setenv("PATH", tools+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("got %q, want it to hold %q", got, w)
		}
	}
}
