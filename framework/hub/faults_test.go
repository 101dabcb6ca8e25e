package hub_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/hub"
	"github.com/mdmhost/mdmhost/framework/hub/hubtest"
)

// refused pulls in vain: the error holds every text, and dir has nothing but what may be gone on with.
func refused(t *testing.T, h *hubtest.Hub, o hub.Options, name string, texts ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	_, err := hub.Pull(t.Context(), parse(t, name), dir, o)
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, expected %q in it", name, err, text)
		}
	}
	for file := range tree(t, dir) {
		if !strings.HasPrefix(file, ".pull/") {
			t.Errorf("%s: %s is in its place", name, file)
		}
	}
	_ = h.Asked()
}

// Answers that are none, by what the user is to do.
func TestRefusals(t *testing.T) {
	h := start(t)
	o := options(h)
	refused(t, h, o, "ours/none", "ours/none@main: ", "answers 401: there is no such repository, or it is private", "HF_TOKEN")
	refused(t, h, o, repo+"@v9", "the repository has no revision v9")
	with := o
	with.Token = "wrong"
	refused(t, h, with, "ours/none", "the token of HF_TOKEN is not taken, or there is no such repository")
	with.Token = "two\nlines"
	refused(t, h, with, repo, "HF_TOKEN: expected a token")
	for _, endpoint := range []string{"huggingface.co", "ftp://x", "https://u:p@x", "https://x?y"} {
		with := o
		with.Endpoint = endpoint
		refused(t, h, with, repo, "hub.endpoint: expected an address such as https://huggingface.co")
	}
	answers := func(path string, status int, header ...string) {
		h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, path) {
				return false
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			return true
		}
	}
	answers("/api/", 403, "X-Error-Code", "GatedRepo", "X-Error-Message", "Access is restricted")
	refused(t, h, o, repo, "is gated (Access is restricted); agree to its terms at "+h.URL+"/ours/small, then set HF_TOKEN")
	answers("/api/", 403)
	refused(t, h, o, repo, "answers 403: not allowed")
	answers("/api/", 302, "Location", "/api/")
	refused(t, h, o, repo, "redirects more than 10 times")
	answers("/resolve/", 401, "X-Error-Code", "GatedRepo")
	refused(t, h, o, repo, "is gated")
	answers("config.json", 404)
	refused(t, h, o, repo, "config.json: ", "has no such file, though the listing has")
	answers("config.json", 418)
	refused(t, h, o, repo, "config.json: ", "answers 418, expected the content")
	h.Wrong = nil
	none := o
	none.Include = []string{"*.gguf"}
	refused(t, h, none, repo, "has none of the files that are asked for among its 12", "--include")
	none.Include = []string{"[a"}
	refused(t, h, none, repo, `pattern "[a": expected`)
	h.Close()
	refused(t, h, o, repo, h.URL+" cannot be reached: ", "HF_ENDPOINT", "HTTPS_PROXY")
}

// Servers that are overloaded, cut off, or silent are asked again; those that stay so are told.
func TestTriesAgain(t *testing.T) {
	h := start(t)
	o := options(h)
	o.Retries, o.Stall = 3, time.Second
	var calls atomic.Int32
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/api/") && !strings.HasSuffix(r.URL.Path, "/tokenizer.json") {
			return false
		}
		switch calls.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(429)
		case 2, 4:
			w.WriteHeader(503)
		case 5:
			panic(http.ErrAbortHandler)
		case 6:
			<-r.Context().Done() // says nothing
		default:
			return false
		}
		return true
	}
	dir := t.TempDir()
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
		t.Fatal(err)
	}
	same(t, wanted(), tree(t, dir))
	if calls.Load() != 7 {
		t.Errorf("%d requests, expected 7", calls.Load())
	}
	o.Retries = 1
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		calls.Add(1)
		w.WriteHeader(502)
		return true
	}
	calls.Store(0)
	refused(t, h, o, repo, "answers 502")
	if calls.Load() != 2 {
		t.Errorf("%d requests, expected 2", calls.Load())
	}
}

// What the digests do not fit is fetched once more, and then refused and not kept.
func TestWrongContents(t *testing.T) {
	h := start(t)
	var calls atomic.Int32
	always, content := false, "0123456789abcdef012345" // as long as config.json
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/config.json") || (calls.Add(1) > 1 && !always) {
			return false
		}
		fmt.Fprint(w, content)
		return true
	}
	dir := t.TempDir()
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil {
		t.Fatal(err)
	}
	same(t, wanted(), tree(t, dir))
	always = true
	calls.Store(0)
	refused(t, h, options(h), repo, "config.json: what came has 22 bytes and git-sha1:", "expected 22 and git-sha1:")
	if calls.Load() != 2 {
		t.Errorf("%d requests, expected 2", calls.Load())
	}
	content += "more"
	refused(t, h, options(h), repo, "config.json: the endpoint sends more than the 22 bytes of its listing")
	content = "less"
	refused(t, h, options(h), repo, "config.json: ", "the connection ended 18 bytes before the end")
}

// Servers that know no ranges, or other ones than they were asked for, are taken from the beginning.
func TestBadRanges(t *testing.T) {
	for name, wrong := range map[string]func(w http.ResponseWriter, r *http.Request){
		"none":   func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(weights) },
		"beyond": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) },
		"other": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 7-99/100")
			w.WriteHeader(http.StatusPartialContent)
		},
		"lies": func(w http.ResponseWriter, r *http.Request) { // the right range of the wrong content
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 1000-%d/%d", len(weights)-1, len(weights)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, len(weights)-1000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := start(t), t.TempDir()
			part := filepath.Join(dir, ".pull", strings.Trim(hubtest.ETag(weights), `"`))
			if err := os.MkdirAll(filepath.Dir(part), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(part, weights[:1000], 0o600); err != nil {
				t.Fatal(err)
			}
			var asked atomic.Int32
			h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/large/") || r.Header.Get("Range") == "" {
					return false
				}
				asked.Add(1)
				wrong(w, r)
				return true
			}
			if _, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err != nil {
				t.Fatal(err)
			}
			same(t, wanted(), tree(t, dir))
			if asked.Load() != 1 {
				t.Errorf("%d requests with a range, expected 1", asked.Load())
			}
		})
	}
}

// Listings are anybody's: what cannot be trusted is refused before anything is written.
func TestHostileListings(t *testing.T) {
	h := start(t)
	for change, want := range map[string]string{
		`../up`: "is no path below", `/etc/passwd`: "is no path below", `a/../../b`: "is no path below", `a\b`: "is no path below", "a\nb": "is no path below",
		`.pull/x`: "is no path below", "": "is no path below", ".": "is no path below", "a//b": "is no path below", "tokenizer.json": "stands there twice",
		"onnx": "\"onnx\" is a file and a directory", "config.json/a/b": "\"config.json\" is a file and a directory", "onnx/" + strings.Repeat("n", 231): "has a name of more than 230 bytes",
	} {
		listing(h, func(all map[string]any) {
			siblings := all["siblings"].([]any)
			all["siblings"] = append(siblings, map[string]any{"rfilename": change, "size": 2, "blobId": strings.Repeat("b", 40)})
		})
		refused(t, h, options(h), repo, want)
	}
	for want, change := range map[string]func(file map[string]any){
		"has no size":   func(f map[string]any) { delete(f, "size"); delete(f, "lfs") },
		"no size":       func(f map[string]any) { f["size"] = -1; delete(f, "lfs") },
		"has no digest": func(f map[string]any) { f["blobId"] = "../../x"; delete(f, "lfs") },
		"(sha256 ":      func(f map[string]any) { f["lfs"] = map[string]any{"sha256": strings.Repeat("A", 64)} },
	} {
		listing(h, func(all map[string]any) { change(all["siblings"].([]any)[0].(map[string]any)) })
		refused(t, h, options(h), repo, want)
	}
	listing(h, func(all map[string]any) { all["sha"] = "../main" })
	refused(t, h, options(h), repo, `expected the commit as sha, found "../main"`)
	listing(h, func(all map[string]any) { all["id"] = "../../x" })
	refused(t, h, options(h), repo, "expected a name such as OWNER/NAME as id")
	h.Wrong = func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, "<html>"); return true }
	refused(t, h, options(h), repo, "expected a listing in JSON", "Hugging Face layout?")
}

// listing lets the server answer a changed one.
func listing(h *hubtest.Hub, change func(map[string]any)) {
	var all map[string]any
	if err := json.Unmarshal(hubtest.Listing(repo, files()), &all); err != nil {
		panic(err)
	}
	change(all)
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	h.Wrong = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/api/") {
			return false
		}
		_, _ = w.Write(text)
		return true
	}
}

// A link within the directory leads nowhere else.
func TestLinksAreNotFollowedOut(t *testing.T) {
	h, dir, out := start(t), t.TempDir(), t.TempDir()
	if err := os.Symlink(out, filepath.Join(dir, "onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Pull(t.Context(), parse(t, repo), dir, options(h)); err == nil || !strings.Contains(err.Error(), "onnx") {
		t.Errorf("error %v", err)
	}
	if got := tree(t, out); len(got) != 0 {
		t.Errorf("%v was written outside", got)
	}
}

// What stands in the way of a file is named, with what to do; nothing is changed.
func TestObstacles(t *testing.T) {
	h, out := start(t), t.TempDir()
	for want, put := range map[string]func(dir string) error{
		"config.json is a link that leads out of the directory": func(dir string) error { return os.Symlink(filepath.Join(out, "x"), filepath.Join(dir, "config.json")) },
		"onnx is a link that leads out of the directory":        func(dir string) error { return os.Symlink(out, filepath.Join(dir, "onnx")) },
		"onnx is a file, and the repository has a directory":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "onnx"), nil, 0o600) },
	} {
		dir, o := t.TempDir(), options(h)
		if err := put(dir); err != nil {
			t.Fatal(err)
		}
		o.Overwrite = true
		_, err := hub.Pull(t.Context(), parse(t, repo), dir, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q in it", err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	}
}

// A directory in which files of another revision were replaced in part opens as no model, whether config.json is among them or not, and the
// next run makes it whole.
func TestCutOffWhileReplacing(t *testing.T) {
	for _, config := range []string{string(files()["config.json"]), "of the old revision"} {
		h, dir := start(t), t.TempDir()
		o := options(h)
		o.Overwrite = true
		if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"config.json": config, "LICENSE": "old", "model.safetensors": "old"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		weights := filepath.Join(dir, "model.safetensors")
		h.Wrong = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/LICENSE") { // what stands here now cannot be replaced
				_ = os.Remove(weights)
				_ = os.MkdirAll(filepath.Join(weights, "x"), 0o700)
			}
			return false
		}
		if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err == nil {
			t.Fatal("no error")
		}
		if got := tree(t, dir); got["LICENSE"] != "yours" || got["config.json"] != "" {
			t.Errorf("LICENSE %q, config.json %q", got["LICENSE"], got["config.json"])
		}
		if err := os.RemoveAll(weights); err != nil {
			t.Fatal(err)
		}
		h.Wrong, _ = nil, h.Asked()
		if _, err := hub.Pull(t.Context(), parse(t, repo), dir, o); err != nil {
			t.Fatal(err)
		}
		same(t, wanted(), tree(t, dir))
		if asked := h.Asked(); len(asked) != 1 {
			t.Errorf("what was there was asked for again: %v", asked)
		}
	}
}

func TestParseRepo(t *testing.T) {
	for text, want := range map[string]string{
		"a/b": "a/b@main ./b", "a/b@c": "a/b@c ./b", "bert-base": "bert-base@main ./bert-base", "a/b.c@refs/pr/2": "a/b.c@refs/pr/2 ./b.c",
	} {
		if r := parse(t, text); r.String()+" "+r.Dir() != want {
			t.Errorf("%s: %s %s", text, r, r.Dir())
		}
	}
	for _, text := range []string{"", "a/b/c", "../b", "a/..", "a/b@", "a/b@../c", "a/b@-x", "https://huggingface.co/a/b", "a b", "a--b", "a/b@c d"} {
		if _, err := hub.ParseRepo(text); err == nil || !strings.Contains(err.Error(), "expected") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
