package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/hub"
	"github.com/mdmhost/mdmhost/framework/hub/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const repo = "ours/small"

var weights = bytes.Repeat([]byte("0123456789abcdef"), 1<<14) // 256 KiB

// files are those of the repository; "no" marks those that are not for a model directory.
func files() map[string][]byte {
	return map[string][]byte{
		"config.json": []byte(`{"model_type": "bert"}`), "tokenizer.json": []byte("{}"), "tokenizer_config.json": []byte("{}"), "model.safetensors": weights,
		"onnx/model.onnx": []byte("graph"), "LICENSE": []byte("yours"), "mdm.json": {},
		"README.md": []byte("no"), "pytorch_model.bin": []byte("no"), "tf/model.safetensors": []byte("no"), "flax_model.msgpack": []byte("no"), "a b/ü?#.txt": []byte("no"),
	}
}

func start(t *testing.T) *hubtest.Hub {
	t.Helper()
	h := hubtest.Start()
	t.Cleanup(h.Close)
	h.Add(repo, files())
	return h
}

func options(h *hubtest.Hub) hub.Options {
	return hub.Options{Endpoint: h.URL, Connections: 4, Retries: 2, Stall: time.Minute}
}

func parse(t *testing.T, text string) hub.Repo {
	t.Helper()
	r, err := hub.ParseRepo(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tree are the files below a directory, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return out
}

func wanted() map[string]string {
	out := map[string]string{}
	for name, content := range files() {
		if string(content) != "no" {
			out[name] = string(content)
		}
	}
	return out
}

func same(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Transformer("short", func(s string) string { return fmt.Sprintf("%d bytes %.40q", len(s), s) })); diff != "" {
		t.Error(diff)
	}
}

// A pull brings what a model directory needs; the next one fetches nothing, and what was removed comes again.
func TestPull(t *testing.T) {
	h, dir := start(t), filepath.Join(t.TempDir(), "deep", "small")
	r, err := hub.Pull(t.Context(), parse(t, repo+"@refs/pr/1"), dir, options(h))
	if err != nil {
		t.Fatal(err)
	}
	same(t, wanted(), tree(t, dir))
	if r.Commit != hubtest.Commit || r.Repo != repo || len(r.Files) != len(wanted()) || r.Bytes < int64(len(weights)) {
		t.Errorf("%+v", r)
	}
	if asked := h.Asked(); len(asked) != 1+len(wanted())+2-1 { // the large ones are asked for twice, and the two tokenizers are one content
		t.Errorf("%d requests: %v", len(asked), asked)
	}
	before, err := os.Stat(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil || r.Bytes != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if asked := h.Asked(); len(asked) != 1 {
		t.Errorf("a second run asks for %v", asked)
	}
	if err := os.Remove(filepath.Join(dir, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	if r, err = hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil || r.Bytes != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	same(t, wanted(), tree(t, dir))
	if after, err := os.Stat(filepath.Join(dir, "model.safetensors")); err != nil || !os.SameFile(before, after) {
		t.Errorf("model.safetensors was written again (%v)", err)
	}
}

// Globs choose other files, of odd names too; * goes beyond slashes. Files of the same content are fetched once.
func TestChoice(t *testing.T) {
	h := start(t)
	for _, c := range []struct {
		include, exclude, want []string
	}{
		{[]string{"*.txt"}, nil, []string{"a b/ü?#.txt"}},
		{[]string{"*.safetensors", "README.?d"}, []string{"model*"}, []string{"README.md", "tf/model.safetensors"}},
		{nil, []string{"*.json", "*.onnx", "[!m]*"}, []string{"model.safetensors"}},
	} {
		dir, o := filepath.Join(t.TempDir(), "d"), options(h)
		o.Include, o.Exclude = c.include, c.exclude
		if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
			t.Error(err)
		}
		var got []string
		for name := range tree(t, dir) {
			got = append(got, name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Error(diff)
		}
	}
	h.Add("pickled", map[string][]byte{"config.json": []byte("{}"), "pytorch_model-00001-of-00002.bin": weights, "pytorch_model-00002-of-00002.bin": weights, "training_args.bin": nil})
	dir := t.TempDir()
	if r, err := hub.Pull(t.Context(), parse(t, "pickled"), dir, options(h)); err != nil || len(r.Files) != 3 || r.Bytes != 2+int64(len(weights)) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A cut connection is taken up where it was cut, within a run and in the next one; the second host never sees the token.
func TestResume(t *testing.T) {
	h, dir := start(t), t.TempDir()
	var cuts atomic.Int32
	cuts.Store(3)
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, ".safetensors") || !strings.HasPrefix(r.URL.Path, "/large/") || cuts.Add(-1) < 0 {
			return false
		}
		from := 0
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(weights)-1, len(weights)))
			w.Header().Set("ETag", hubtest.ETag(weights))
			w.Header().Set("Content-Length", fmt.Sprint(len(weights)-from))
			w.WriteHeader(http.StatusPartialContent)
		} else {
			w.Header().Set("ETag", hubtest.ETag(weights))
			w.Header().Set("Content-Length", fmt.Sprint(len(weights)))
		}
		_, _ = w.Write(weights[from : from+50_000])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	o := options(h)
	o.Retries, o.Token = 0, "secret"
	// Without retries the first cut ends the run; with one, any number of cuts that each brought a part do not.
	r, err := hub.Pull(t.Context(), parse(t, repo), dir, o)
	if err == nil {
		t.Fatalf("no error: %+v", r)
	}
	if !strings.Contains(err.Error(), "model.safetensors") || !strings.Contains(err.Error(), "run the command again to go on") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
		t.Error("config.json is in its place before the weights are")
	}
	o.Retries = 1
	if _, err = hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
		t.Fatal(err)
	}
	same(t, wanted(), tree(t, dir))
	var ranges []string
	for _, a := range h.Asked() {
		if a.Side && a.Authorization != "" {
			t.Errorf("the second host was shown %s", a.Authorization)
		}
		if !a.Side && a.Authorization != "Bearer secret" {
			t.Errorf("%s came with %q", a.Path, a.Authorization)
		}
		if a.Side && strings.HasSuffix(a.Path, ".safetensors") {
			ranges = append(ranges, a.Range)
		}
	}
	if diff := cmp.Diff([]string{"", "bytes=50000-", "bytes=100000-", "bytes=150000-"}, ranges); diff != "" {
		t.Error(diff)
	}
}

// An interrupt keeps the parts, and says nothing but that it was one.
func TestInterrupt(t *testing.T) {
	h, dir := start(t), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/large/ours/small/model") {
			return false
		}
		_, _ = w.Write(weights[:100_000])
		_ = http.NewResponseController(w).Flush()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			parts, _ := filepath.Glob(filepath.Join(dir, ".pull", "*"))
			for _, p := range parts {
				if info, err := os.Stat(p); err == nil && info.Size() == 100_000 {
					cancel()
					<-r.Context().Done()
					return true
				}
			}
		}
		return true
	}
	if _, err := hub.Pull(ctx, parse(t, repo), dir, options(h)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	h.Wrong = nil
	h.Asked()
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil {
		t.Fatal(err)
	}
	same(t, wanted(), tree(t, dir))
	if !slices.ContainsFunc(h.Asked(), func(r hubtest.Request) bool { return r.Range == "bytes=100000-" }) {
		t.Error("the next run begins anew")
	}
}

// Two pulls into one directory do not mix.
func TestOneAtATime(t *testing.T) {
	h, dir := start(t), t.TempDir()
	var second error
	var once atomic.Bool
	h.Wrong = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/large/") && once.CompareAndSwap(false, true) {
			_, second = hub.Pull(context.Background(), hub.Repo{Name: repo, Revision: "main"}, dir, options(h))
		}
		return false
	}
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another pull writes into it") {
		t.Errorf("error %v", second)
	}
}

// Files that somebody changed, or of another revision, are replaced where it is asked for and not otherwise.
func TestDifferingFiles(t *testing.T) {
	h, dir := start(t), t.TempDir()
	for name, text := range map[string]string{"tokenizer.json": "mine", "LICENSE": "mines", "notes.txt": "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	_, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h))
	if err == nil || !strings.Contains(err.Error(), dir+": LICENSE, tokenizer.json: not what ours/small holds") || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("error %v", err)
	}
	same(t, before, tree(t, dir))
	o := options(h)
	o.Overwrite = true
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
		t.Fatal(err)
	}
	want := wanted()
	want["notes.txt"] = "mine"
	same(t, want, tree(t, dir))
}
