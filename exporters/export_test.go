package exporters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/framework/wholefile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stub is a target whose verifier is a script in Python.
type stub struct {
	info   exporters.Info
	check  error
	files  map[string]string
	script string
}

func (t stub) Info() exporters.Info {
	t.info.Name, t.info.Stack, t.info.Needs = "stub", "a stack", []string{"python3 with stub"}
	return t.info
}

func (t stub) Check(*exporters.Source, exporters.Options) error { return t.check }

func (t stub) Files(context.Context, *exporters.Source, exporters.Options) (wholefile.Files, error) {
	out := wholefile.Files{}
	for name, text := range t.files {
		out[name] = wholefile.Bytes([]byte(text))
	}
	return out, nil
}

func (t stub) Verify(ctx context.Context, s *exporters.Source, o exporters.Options, dir string) (*exporters.Verdict, error) {
	r, err := s.Reference(ctx)
	if err != nil {
		return nil, err
	}
	return exporters.VerifyPython(ctx, o, []byte(t.script), dir, r)
}

// verdict is a script that prints a verdict.
func verdict(fields string) string { return "print('{" + fields + "}')" }

const agrees = `"stack": "stub 1.0", "positions": 7, "max_logit_difference": 1e-6, "tokens": 5`

func open(t *testing.T, ref string) *exporters.Source {
	t.Helper()
	s, err := exporters.Open(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listed are the paths of the files below dir, nil where it is not there.
func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return names
}

func TestExport(t *testing.T) {
	s, said := open(t, "sudoku"), []string{}
	out := filepath.Join(t.TempDir(), "new", "out")
	// The verifier sees what is exported and what is expected, and no network.
	target := stub{files: map[string]string{"a/weights": "w", "config.json": "{}"}, script: `
import os, sys
assert sorted(os.listdir(sys.argv[1])) == ["a", "config.json"], os.listdir(sys.argv[1])
assert os.path.getsize(sys.argv[2]) > 1000 and os.environ["HF_HUB_OFFLINE"] == "1" and sorted(os.listdir(".")) == ["compare.py", "verify.py"]
print("a word before")
` + verdict(agrees)}
	o := exporters.Options{Version: "v1", Progress: func(line string) { said = append(said, line) }}
	result, err := exporters.Export(t.Context(), target, s, o, out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, out), []string{"a/weights", "config.json", "export.json"}; !slices.Equal(got, want) {
		t.Errorf("files %v, expected %v", got, want)
	}
	text, err := os.ReadFile(filepath.Join(out, exporters.RecordName))
	if err != nil {
		t.Fatal(err)
	}
	var record exporters.Record
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	digest, err := s.Model.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := s.Reference(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := exporters.Record{
		Format: 1, Version: "v1", Target: "stub", Options: exporters.Options{Precision: "fp32"},
		Source:   exporters.Origin{Name: "sudoku", Digest: digest, Trainer: s.Model.Manifest.Trainer, Files: s.Digests},
		Verified: &exporters.Verified{Verdict: &exporters.Verdict{Stack: "stub 1.0", Positions: 7, MaxLogit: 1e-6, Tokens: 5, Limit: reference.Limit()}},
		Files: []model.File{{Name: "a/weights", Bytes: 1, SHA256: "50e721e49c013f00c62cf59f2163542a9d8df02464efeb615d31051b0fddc326"},
			{Name: "config.json", Bytes: 2, SHA256: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}},
	}
	if diff := cmp.Diff(want, record); diff != "" {
		t.Error(diff)
	}
	if result.Out != out || len(said) != 3 || !strings.Contains(said[2], "logits of 7 positions differ by at most 1e-06") {
		t.Errorf("%+v %q", result, said)
	}
	// Again, over itself: what it holds may be replaced.
	if _, err := exporters.Export(t.Context(), target, s, exporters.Options{Verify: exporters.VerifyOff}, out); err != nil {
		t.Error(err)
	}
}

// What goes wrong leaves no export, nothing of one, and what was there before.
func TestFaults(t *testing.T) {
	s := open(t, "sudoku")
	files := map[string]string{"weights": "w"}
	for name, c := range map[string]struct {
		target stub
		o      exporters.Options
		want   string
	}{
		"check":        {stub{check: errors.New("model sudoku: grows; use --to onnx")}, exporters.Options{}, "grows; use --to onnx"},
		"precision":    {stub{info: exporters.Info{Precisions: []string{"fp16", "int8"}}}, exporters.Options{Precision: "fp32"}, "precision fp32: target stub takes fp16, int8; give one of them"},
		"no precision": {stub{}, exporters.Options{Precision: "int8"}, "precision int8: target stub takes fp32; give one of them"},
		"option":       {stub{}, exporters.Options{Rows: 3}, "rows: is none of the options of target stub"},
		"verify":       {stub{}, exporters.Options{Verify: "perhaps"}, `verify "perhaps": expected auto, must or off`},
		"must":         {stub{script: "import sys; print('package stub is missing', file=sys.stderr); sys.exit(3)"}, exporters.Options{Verify: exporters.VerifyMust}, "the stack is not installed: package stub is missing; needed: python3 with stub; install it"},
		"interpreter":  {stub{}, exporters.Options{Python: "/nowhere/python"}, "export.python: "},
		"crash":        {stub{script: "raise ValueError('shapes differ')"}, exporters.Options{}, "ValueError: shapes differ"},
		"killed":       {stub{script: "import os; os.kill(os.getpid(), 9)"}, exporters.Options{}, "the verifier ended with signal: killed and said nothing; try another interpreter"},
		"silent":       {stub{script: "pass"}, exporters.Options{}, `the verifier printed "", expected one line of JSON`},
		"lies":         {stub{script: "print('all is well')"}, exporters.Options{}, `the verifier printed "all is well", expected one line of JSON`},
		"unknown":      {stub{script: verdict(`"stack": "x", "fine": true`)}, exporters.Options{}, `unknown field "fine"`},
		"endless":      {stub{script: "while True: print('x' * 1000)"}, exporters.Options{Timeout: time.Second}, "verification took more than 1s"},
		"talkative":    {stub{script: "print('x' * (1 << 25))"}, exporters.Options{}, "expected one line of JSON"},
		"nothing":      {stub{script: verdict(`"stack": "x"`)}, exporters.Options{}, "compared nothing"},
		"no number":    {stub{script: verdict(`"stack": "x", "positions": 3, "max_logit_difference": -1`)}, exporters.Options{}, "no sensible numbers"},
		"NaN":          {stub{script: verdict(`"stack": "x", "positions": 3, "max_logit_difference": NaN`)}, exporters.Options{}, "expected one line of JSON"},
		"counts":       {stub{script: verdict(`"stack": "x", "positions": 3, "tokens": 2, "tokens_differ": 3`)}, exporters.Options{}, "no sensible numbers"},
		"logits":       {stub{script: verdict(`"stack": "x", "positions": 3, "max_logit_difference": 0.01`)}, exporters.Options{}, "logits differ by 0.01, expected at most"},
		"rates":        {stub{script: verdict(`"stack": "x", "positions": 3, "max_rate_difference": 0.01`)}, exporters.Options{}, "rates differ by 0.01"},
		"tokens":       {stub{script: verdict(`"stack": "x", "positions": 3, "tokens": 9, "tokens_differ": 2, "near_ties": 1`)}, exporters.Options{}, "2 of 9 tokens differ"},
		// The verifier starts a process that would outlive it.
		"hangs": {stub{script: "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']); import time; time.sleep(600)"},
			exporters.Options{Timeout: time.Second}, "verification took more than 1s; give it more"},
		"record": {stub{files: map[string]string{"export.json": "{}"}}, exporters.Options{}, "this program's own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			if err := os.MkdirAll(out, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(out, "weights"), []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.target.files == nil {
				c.target.files = files
			}
			_, err := exporters.Export(t.Context(), c.target, s, c.o, out)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected %q", err, c.want)
			}
			if got := listed(t, dir); !slices.Equal(got, []string{"out/weights"}) {
				t.Errorf("left: %v", got)
			}
			if kept, _ := os.ReadFile(filepath.Join(out, "weights")); string(kept) != "before" {
				t.Errorf("what was there is %q", kept)
			}
		})
	}
}

// Licences and notices go with every copy of a model, but where the target has a file of that name.
func TestNotices(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	target := stub{files: map[string]string{"weights": "w", "NOTICE": "own"}}
	if _, err := exporters.Export(t.Context(), target, open(t, "rxnmapper-albert"), exporters.Options{Verify: exporters.VerifyOff}, out); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(t, out), []string{"LICENSE", "NOTICE", "export.json", "weights"}; !slices.Equal(got, want) {
		t.Errorf("files %v, expected %v", got, want)
	}
	for name, want := range map[string]string{"LICENSE": "RXN4Chemistry team", "NOTICE": "own"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q %v, expected %q", name, b, err, want)
		}
	}
}

func TestUnverified(t *testing.T) {
	s := open(t, "sudoku")
	files := map[string]string{"weights": "w"}
	missing := stub{files: files, script: "import sys; print('package stub is missing', file=sys.stderr); sys.exit(3)"}
	for want, c := range map[string]struct {
		o    exporters.Options
		said string
	}{
		"the stack is not installed: package stub is missing": {exporters.Options{}, "NOT verified: the stack is not installed: package stub is missing; needed: python3 with stub"},
		"not asked for": {exporters.Options{Verify: exporters.VerifyOff}, "not verified: it was not asked for"},
	} {
		var said []string
		c.o.Progress = func(line string) { said = append(said, line) }
		result, err := exporters.Export(t.Context(), missing, s, c.o, filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		if result.Verified.Reason != want || result.Verified.Verdict != nil || !slices.Contains(said, c.said) {
			t.Errorf("%+v, said %q", result.Verified, said)
		}
		text, err := os.ReadFile(filepath.Join(result.Out, exporters.RecordName))
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("\"verified\": {\n    \"reason\": %q\n  }", want)) {
			t.Errorf("%v: %s", err, text)
		}
	}
}

func TestPlaces(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	m, err := model.Open("sudoku")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(mine, files(t, m, nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := open(t, mine)
	before := listed(t, dir)
	target := stub{files: map[string]string{"weights": "w"}}
	for out, want := range map[string]string{
		mine: "is the model itself", filepath.Join(dir, "link"): "is the model itself", filepath.Join(mine, "a", "b"): "is inside the model", filepath.Join(dir, "link", "a"): "is inside the model",
		dir: "which the new one does not have; nothing was changed", filepath.Join(mine, "config.json"): "is inside the model",
	} {
		_, err := exporters.Export(t.Context(), target, s, exporters.Options{Verify: exporters.VerifyOff}, out)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", out, err, want)
		}
	}
	if diff := cmp.Diff(before, listed(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// A full disk leaves nothing, and what was there before.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs needs root (%v)", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	s, out := open(t, "sudoku"), filepath.Join(dir, "out")
	target := stub{files: map[string]string{"a": strings.Repeat("a", 40<<10), "b": strings.Repeat("b", 40<<10)}, script: verdict(agrees)}
	if _, err := exporters.Export(t.Context(), target, s, exporters.Options{}, out); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, expected one of a full disk", err)
	}
	if got := listed(t, dir); got != nil {
		t.Errorf("left: %v", got)
	}
	target.files = map[string]string{"a": "a"}
	if _, err := exporters.Export(t.Context(), target, s, exporters.Options{}, out); err != nil {
		t.Error(err)
	}
}

// A cancelled export is none, whether it was written or verified.
func TestCancel(t *testing.T) {
	s := open(t, "sudoku")
	for _, at := range []string{"writing", "verifying"} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		o := exporters.Options{Progress: func(line string) {
			if strings.HasPrefix(line, at) {
				cancel()
			}
		}}
		target := stub{files: map[string]string{"a": "a"}, script: "import time; time.sleep(600)"}
		if _, err := exporters.Export(ctx, target, s, o, filepath.Join(dir, "out")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", at, err)
		}
		if got := listed(t, dir); got != nil {
			t.Errorf("%s: left %v", at, got)
		}
	}
}

// files are those of a model, with other contents of some.
func files(t *testing.T, m *model.Model, other map[string][]byte) fstest.MapFS {
	t.Helper()
	hashed, err := m.Files()
	if err != nil {
		t.Fatal(err)
	}
	out := fstest.MapFS{}
	for _, f := range hashed {
		b, err := m.ReadFile(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = &fstest.MapFile{Data: b}
	}
	for name, b := range other {
		out[name] = &fstest.MapFile{Data: b}
	}
	return out
}
