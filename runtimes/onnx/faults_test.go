package onnx_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/install"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

// A library can be loaded once a process, so tests of bad ones run this binary again with the library in this variable.
const child = "MDMHOST_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(child); what != "" {
		switch what {
		case "open":
			_, err := onnx.Open(context.Background(), onnx.Model{Name: "table", Data: tableModel(make([]float32, 3), 3)}, onnx.Options{})
			fmt.Println("error:", err)
		case "twice": // a bad library does not spoil the process
			_, err := onnx.Open(context.Background(), onnx.Model{Name: "table", Data: tableModel(make([]float32, 3), 3)}, onnx.Options{Library: os.Getenv("FIRST")})
			fmt.Println("error:", err)
			_, err = onnx.Open(context.Background(), onnx.Model{Name: "table", Data: tableModel(make([]float32, 3), 3)}, onnx.Options{})
			fmt.Println("error:", err)
		case "check":
			fmt.Print(onnx.Check(onnx.Options{}))
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// inChild runs this binary as a child with exactly env, and returns what it printed.
func inChild(t *testing.T, what, dir string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env, cmd.Dir = append(env, child+"="+what), dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("got %q, want %q in it", got, w)
		}
	}
}

// stub compiles a library that is ONNX Runtime by name and version only.
func stub(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "stub.c"), filepath.Join(dir, "libonnxruntime.so."+version)
	code := fmt.Sprintf(`static const void *api(unsigned v) { (void)v; return 0; }
static const char *version(void) { return "%s"; }
static struct { const void *(*get)(unsigned); const char *(*version)(void); } base = {api, version};
void *OrtGetApiBase(void) { return &base; }`, version)
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, out)
	}
	return lib
}

func TestBadLibraries(t *testing.T) {
	dir, home := t.TempDir(), "HOME="+t.TempDir()
	contains(t, inChild(t, "open", dir, home), "error: ONNX Runtime: no libonnxruntime", dir+"/third_party/ort", "/mdmhost/ort/"+onnx.Version, "mdmhost runtime install")
	contains(t, inChild(t, "check", dir, home), "problem", "no libonnxruntime", "instructions")

	gone := onnx.LibraryVariable + "=" + filepath.Join(dir, "gone.so")
	contains(t, inChild(t, "open", dir, gone), "error: "+onnx.LibraryVariable, "gone.so: no such file", "mdmhost runtime install")

	junk := filepath.Join(dir, "junk.so")
	if err := os.WriteFile(junk, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(t, inChild(t, "open", dir, onnx.LibraryVariable+"="+junk), "error: "+junk+": cannot be loaded")

	for _, version := range []string{"1.24.1", "1.31.1"} { // one is old by its version, one by its API
		old := stub(t, version)
		contains(t, inChild(t, "open", dir, onnx.LibraryVariable+"="+old), fmt.Sprintf("error: %s is ONNX Runtime %s, this build needs 1.26 or newer", old, version), "mdmhost runtime install")
		contains(t, inChild(t, "check", dir, onnx.LibraryVariable+"="+old), "version       "+version, "problem", "needs 1.26")
	}

	real, err := onnx.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	if real, err = filepath.Abs(real); err != nil {
		t.Fatal(err)
	}
	out := inChild(t, "twice", dir, onnx.LibraryVariable+"="+real, "FIRST="+stub(t, "1.19.2"))
	contains(t, out, "is ONNX Runtime 1.19.2", "error: <nil>")
	contains(t, inChild(t, "check", dir, onnx.LibraryVariable+"="+real), "providers", "CPUExecutionProvider", "cuda")
}

// The search finds what lies in the places that users know.
func TestFindLibrary(t *testing.T) {
	t.Setenv(onnx.LibraryVariable, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	t.Chdir(dir)
	put := func(path string) string {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(want string) {
		t.Helper()
		if got, err := onnx.FindLibrary(""); got != want || err != nil {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	put(filepath.Join(dir, "third_party/ort/libonnxruntime_providers_shared.so"))
	if got, err := onnx.FindLibrary(""); err == nil {
		t.Errorf("took %s for the library", got)
	}
	put(filepath.Join(dir, "go.mod"))
	root := put(filepath.Join(dir, "third_party/ort/libonnxruntime.so.1.31.1"))
	t.Chdir(t.TempDir())
	if _, err := onnx.FindLibrary(""); err == nil {
		t.Error("found a library of another folder")
	}
	deep := filepath.Join(dir, "a/b")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	expect(root)
	installed, err := install.Dir(install.CPU)
	if err != nil {
		t.Fatal(err)
	}
	own := put(filepath.Join(installed, "libonnxruntime.so.1.31.1"))
	expect(own)
	cuda, err := install.Dir(install.CUDA)
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(cuda, "libonnxruntime.so.1.31.1"))
	expect(own)
	t.Setenv(onnx.LibraryVariable, root)
	expect(root)
	t.Setenv(onnx.LibraryVariable, filepath.Dir(root))
	expect(root)
	if got, err := onnx.FindLibrary(own); got != own || err != nil {
		t.Error("the option comes first:", got, err)
	}
}

func TestBadModels(t *testing.T) {
	whole, err := os.ReadFile(realModel("rxnmapper-albert").Path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.onnx")
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	table := func(change ...func(*graph.Model)) []byte { return tableModel(make([]float32, 6), 3, change...) }
	for name, c := range map[string]struct {
		model onnx.Model
		want  string
	}{
		"truncated":     {onnx.Model{Name: "cut", Path: cut}, "model cut: ONNX model: "},
		"no file":       {onnx.Model{Path: "gone.onnx"}, "no such file"},
		"a folder":      {onnx.Model{Path: t.TempDir()}, "not a file with something in it"},
		"nothing":       {onnx.Model{Name: "x"}, "neither a path nor data"},
		"text":          {onnx.Model{Name: "x", Data: []byte("version https://git-lfs.github.com/spec/v1\n")}, "damaged or not an ONNX model"},
		"no graph":      {onnx.Model{Name: "x", Data: (&graph.Model{IRVersion: 8}).Encode()}, "holds no graph"},
		"other width":   {onnx.Model{Name: "x", V: 4, Data: table()}, "logits are 3 wide, expected 4"},
		"unknown input": {onnx.Model{Name: "x", Data: table(func(m *graph.Model) { m.Graph.Inputs = append(m.Graph.Inputs, tensor("pixels", graph.Float32)) })}, `input "pixels" (float32) that the runtime cannot fill`},
		"float ids":     {onnx.Model{Name: "x", Data: table(func(m *graph.Model) { m.Graph.Inputs[0].Type = graph.Float32 })}, "input input_ids holds float32, expected int64"},
		"no ids":        {onnx.Model{Name: "x", Data: table(func(m *graph.Model) { m.Graph.Inputs = m.Graph.Inputs[1:] })}, "no input input_ids"},
		"no logits":     {onnx.Model{Name: "x", Data: table(func(m *graph.Model) { m.Graph.Outputs[0].Name, m.Graph.Outputs[0].Type = "y", graph.Int64 })}, "has outputs y, expected one named logits"},
		"odd dims":      {onnx.Model{Name: "x", Data: table(func(m *graph.Model) { m.Graph.Inputs[0].Shape = []graph.Dim{graph.Known(0), graph.Known(3)} })}, "does not fit"},
	} {
		if _, err := onnx.Open(t.Context(), c.model, onnx.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	// What only ONNX Runtime can see.
	d, err := onnx.Open(t.Context(), onnx.Model{Name: "odd", Data: table(func(m *graph.Model) { m.Graph.Nodes[0].Op = "Gathr" })}, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Configure(t.Context(), sampling.Head{}); err == nil {
		t.Error("an unknown operator was accepted")
	} else {
		contains(t, err.Error(), "model odd: ONNX Runtime", "Gathr")
	}
}

func TestBadUse(t *testing.T) {
	for name, c := range map[string]struct {
		options onnx.Options
		want    string
	}{
		"provider": {onnx.Options{Provider: "tpu"}, `provider "tpu" is unknown; use cpu, cuda, tensorrt`},
		"cuda":     {onnx.Options{Provider: "cuda"}, "provider cuda: "},
		"head":     {onnx.Options{Head: "x"}, `head "x" is unknown`},
		"optimize": {onnx.Options{Optimize: "x"}, `optimize "x" is unknown`},
		"threads":  {onnx.Options{Threads: -1}, "threads -1"},
		"options":  {onnx.Options{ProviderOptions: map[string]string{"a": "b"}}, "provider_options are given"},
	} {
		if name == "cuda" && onnx.Check(onnx.Options{}).CUDA {
			continue
		}
		if _, err := onnx.Open(t.Context(), onnx.Model{Name: "x", Data: embedModel(3, 2, 5)}, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	d := open(t, onnx.Model{Name: "x", Data: embedModel(3, 2, 5, func(m *graph.Model) {
		m.Graph.Inputs[0].Shape = []graph.Dim{graph.Known(2), graph.Known(4)}
	})}, onnx.Options{Provider: "auto"}, sampling.Head{})
	if caps := d.Capabilities(); caps.Provider == "cpu" {
		contains(t, strings.Join(d.Notes(), "\n"), "provider auto: runs on the CPU, because")
	}
	for _, c := range []struct {
		b, l int
		want string
	}{{0, 1, "at least 1"}, {3, 4, "exported for 2"}, {2, 5, "exported for 4"}, {2, 3, "no attention_mask"}} {
		if _, err := d.Batch(c.b, c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d x %d: got %v, want %q", c.b, c.l, err, c.want)
		}
	}
	if err := d.Configure(t.Context(), sampling.Head{}); err == nil {
		t.Error("a second Configure was accepted")
	}
	batch := batchOf(t, d, 1, 4)
	batch.Tokens[2] = 99
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "model x: a pass of 1 rows x 4 positions failed") {
		t.Errorf("a token beyond the table: %v", err)
	}
	batch.Tokens[2] = 2
	runOf(t, d)
}

// A model that computes NaN gives faults, not tokens.
func TestNaNLogits(t *testing.T) {
	nan := float32(math.NaN())
	for _, mode := range []string{onnx.HeadFused, onnx.HeadGraph, onnx.HeadGo} {
		d := open(t, onnx.Model{Name: "nan", Data: tableModel([]float32{nan, nan, nan, 1, 2, 3}, 3)}, onnx.Options{Head: mode}, sampling.Head{Suppress: []int32{2}, Needs: allNeeds})
		batchOf(t, d, 1, 2)
		if st := runOf(t, d); st.Proposal[0] != sampling.FaultNaN || st.Proposal[1] != 1 || st.P1[0] == st.P1[0] {
			t.Errorf("%s: proposals %v, p1 %v", mode, st.Proposal, st.P1)
		}
	}
}

// Opening the library turns its reports to its maker off, unless the user decided otherwise.
func TestNoTelemetry(t *testing.T) {
	if r := onnx.Check(onnx.Options{}); r.Version == "" {
		t.Fatalf("no library: %s", r)
	}
	if got := os.Getenv("ORT_DISABLE_TELEMETRY"); got != "1" {
		t.Errorf("ORT_DISABLE_TELEMETRY is %q, want 1", got)
	}
}
