package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
)

// reloadNews is what /readyz says of the last reload.
type reloadNews struct {
	Reload *struct {
		OK            bool
		Error         string
		Changed, Kept []string
	}
}

func (r *running) news(t testing.TB) reloadNews {
	t.Helper()
	_, _, text := r.ask(t, "/readyz", "")
	var out reloadNews
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// fromFile is a server whose settings stand in a file.
func fromFile(t *testing.T, f *fake, file, text string) *running {
	t.Helper()
	write(t, file, text)
	load := func(context.Context) (serve.Settings, error) {
		cfg, err := config.Load(config.Sources{File: file})
		return serve.Settings{Config: cfg, Files: []string{file}}, err
	}
	first, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return start(t, serve.Options{Engine: f, Settings: first, Load: load})
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A reload takes up all that it can, keeps the old settings where something is wrong, and says which.
func TestReload(t *testing.T) {
	f, file := newFake(t, complete), filepath.Join(t.TempDir(), "mine.yaml")
	const listen = "serve: {listen: '127.0.0.1:0', watch: false, %s}\n"
	s := fromFile(t, f, file, fmt.Sprintf(listen, "max_body: 30"))
	long := `{"prompt": "more than thirty bytes"}`
	if status, _, _ := s.ask(t, "/v1/completions", long); status != 413 {
		t.Fatalf("before: status %d", status)
	}
	if s.news(t).Reload != nil {
		t.Error("news of a reload before one")
	}
	write(t, file, fmt.Sprintf(listen, "max_body: 1000, drain: 5")+"planner: eb\nserve.connections: 7\n")
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.ask(t, "/v1/completions", long); status != 200 {
		t.Errorf("after: status %d", status)
	}
	if n := s.news(t).Reload; !n.OK || strings.Join(n.Changed, ";") != "planner.name;serve.drain;serve.max_body" || strings.Join(n.Kept, ";") != "serve.connections" {
		t.Errorf("news %+v", n)
	}
	for _, want := range []string{`planner.name: \"confidence\" -> \"eb\"; serve.drain: \"30\" -> \"5\"`, `serve.connections: \"20000\" -> \"7\"`} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, s.log)
		}
	}
	if len(f.reloaded) != 1 || f.reloaded[0].Planner.Name != "eb" {
		t.Errorf("the engine was told %v", f.reloaded)
	}

	write(t, file, "serve: {max_body: many, drian: 3}\n")
	err := s.Reload(t.Context())
	if n := s.news(t).Reload; err == nil || n.OK || !strings.Contains(n.Error, "the server's log says why") || strings.Contains(n.Error, "many") {
		t.Errorf("a bad file: %v, %+v", err, n)
	}
	if log := s.log.String(); !strings.Contains(log, "serve.max_body: expected a whole number") || !strings.Contains(log, "did you mean serve.drain?") {
		t.Errorf("a bad file: %s", log)
	}
	write(t, file, fmt.Sprintf(listen, "max_body: 20, tokens: nowhere"))
	if err = s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "serve.tokens") {
		t.Errorf("a file of tokens that is not there: %v", err)
	}
	f.mu.Lock()
	f.reload = errors.New("model x: no such model")
	f.mu.Unlock()
	write(t, file, fmt.Sprintf(listen, "max_body: 20"))
	if err = s.Reload(t.Context()); err == nil || s.news(t).Reload.OK || !strings.Contains(s.log.String(), "model x: no such model") {
		t.Errorf("a model that is not there: %v", err)
	}
	if status, _, _ := s.ask(t, "/v1/completions", long); status != 200 || len(f.reloaded) != 1 {
		t.Errorf("after three bad reloads: status %d, the engine was told %d times", status, len(f.reloaded))
	}
	if _, _, text := s.ask(t, "/metrics", ""); !strings.Contains(text, `mdmhost_reloads_total{result="refused"} 3`) || !strings.Contains(text, `mdmhost_reloads_total{result="taken"} 1`) {
		t.Error("the metrics do not count them")
	}
}

// Credentials are told to nobody: neither by /readyz, which asks for no token, nor in the log.
func TestReloadTellsNoSecrets(t *testing.T) {
	f, file := newFake(t, complete), filepath.Join(t.TempDir(), "mine.yaml")
	const text = `serve: {listen: "127.0.0.1:0", watch: false, otlp: "http://me:secret%[1]d@127.0.0.1:9/?key=secret%[1]d"}
runtime: {kind: openinference, endpoints: ["http://gpu%[1]d"], headers: {authorization: "Bearer secret%[1]d"}}
plugins.env: ["KEY=secret%[1]d"]
`
	s := fromFile(t, f, file, fmt.Sprintf(text, 1))
	write(t, file, fmt.Sprintf(text, 2))
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, ready := s.ask(t, "/readyz", "")
	for _, key := range []string{"plugins.env", "runtime.endpoints", "runtime.headers.authorization", "serve.otlp"} {
		if !strings.Contains(ready, `"`+key+`"`) || !strings.Contains(s.log.String(), key+": ") {
			t.Errorf("%s is not told: %s, %s", key, ready, s.log)
		}
	}
	if all := ready + s.log.String(); strings.Contains(all, "secret") {
		t.Errorf("a secret is told: %s", all)
	}
}

// A file is noticed however it is written: in place, by a file that is moved onto it, or through a link that is moved, as of a mounted
// config map. A write that changes nothing is not news.
func TestWatch(t *testing.T) {
	f, dir := newFake(t, complete), t.TempDir()
	text := func(n int) string { return fmt.Sprintf("serve: {listen: '127.0.0.1:0', max_rows: %d}\n", n) }
	for _, data := range []string{"..1", "..2"} {
		if err := os.Mkdir(filepath.Join(dir, data), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, from string) {
		t.Helper()
		_ = os.Remove(filepath.Join(dir, "new"))
		if err := errors.Join(os.Symlink(to, filepath.Join(dir, "new")), os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, from))); err != nil {
			t.Fatal(err)
		}
	}
	link("..1", "..data")
	file := filepath.Join(dir, "mine.yaml")
	s := fromFile(t, f, file, text(1))
	heard := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("reload %d", n), func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.reloaded) > 0 && f.reloaded[len(f.reloaded)-1].Serve.MaxRows == n
		})
	}
	eventually(t, "the watch", func() bool { return s.Watching() })
	write(t, file, text(2))
	heard(2)
	write(t, file+"~", text(3))
	if err := os.Rename(file+"~", file); err != nil {
		t.Fatal(err)
	}
	heard(3)
	write(t, filepath.Join(dir, "..1", "mine.yaml"), text(4))
	write(t, filepath.Join(dir, "..2", "mine.yaml"), text(5))
	link("..data/mine.yaml", "mine.yaml")
	heard(4)
	link("..2", "..data")
	heard(5)
	before := len(f.reloaded)
	write(t, filepath.Join(dir, "..2", "mine.yaml"), text(5))
	write(t, filepath.Join(dir, "other"), "x")
	time.Sleep(400 * time.Millisecond) // longer than the server waits for files to be quiet
	if len(f.reloaded) != before {
		t.Errorf("%d reloads, where nothing has changed", len(f.reloaded)-before)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a complaint", func() bool {
		n := s.news(t).Reload
		return !n.OK && strings.Contains(s.log.String(), "mine.yaml: no such file")
	})
}

// Other files of the folder, such as a log, keep no change from being noticed.
func TestWatchInABusyFolder(t *testing.T) {
	f, dir := newFake(t, complete), t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	s := fromFile(t, f, file, "serve: {listen: '127.0.0.1:0', max_rows: 1}\n")
	eventually(t, "the watch", func() bool { return s.Watching() })
	write(t, file, "serve: {listen: '127.0.0.1:0', max_rows: 2}\n")
	eventually(t, "the reload", func() bool {
		write(t, filepath.Join(dir, "other.log"), "x")
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.reloaded) == 1 && f.reloaded[0].Serve.MaxRows == 2
	})
}

// Files that a reload brought are watched, too, and so is what files are links to.
func TestWatchFollows(t *testing.T) {
	f, file, real, tokens := newFake(t, complete), filepath.Join(t.TempDir(), "mine.yaml"), filepath.Join(t.TempDir(), "real.yaml"), filepath.Join(t.TempDir(), "tokens")
	write(t, real, "serve: {listen: '127.0.0.1:0'}\n")
	write(t, tokens, "one\ntwo\n")
	if err := os.Symlink(real, file); err != nil {
		t.Fatal(err)
	}
	load := func(context.Context) (serve.Settings, error) {
		began := time.Now()
		cfg, err := config.Load(config.Sources{File: file})
		if err != nil {
			return serve.Settings{}, err
		}
		out := serve.Settings{Config: cfg, Files: []string{file}, Read: began}
		if cfg.Serve.Tokens != "" {
			out.Files = append(out.Files, cfg.Serve.Tokens)
		}
		return out, nil
	}
	first, err := load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Options{Engine: f, Settings: first, Load: load})
	eventually(t, "the watch", func() bool { return s.Watching() })
	answers := func(what, token string, status int) {
		t.Helper()
		eventually(t, what, func() bool {
			got, _, _ := s.ask(t, "/v1/models", "", "Authorization", "Bearer "+token)
			return got == status
		})
	}
	answers("everybody", "none", 200)
	write(t, real, "serve: {listen: '127.0.0.1:0', tokens: "+tokens+"}\n")
	answers("the link's target", "none", 401)
	answers("a token", "two", 200)
	write(t, tokens, "one\n")
	answers("a token that was taken back", "two", 401)
	write(t, tokens, "one\nthree\n")
	answers("a new token", "three", 200)
}

// Settings that are cut off let nobody in who was not: a file that was emptied waits for its text, and one that lost serve.tokens is refused.
func TestReloadKeepsTheDoorShut(t *testing.T) {
	f, dir := newFake(t, complete), t.TempDir()
	file, tokens := filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "tokens")
	write(t, tokens, "one\n")
	s := fromFile(t, f, file, "serve:\n  listen: '127.0.0.1:0'\n  max_rows: 3\n  tokens: "+tokens+"\n")
	eventually(t, "the watch", func() bool { return s.Watching() })
	write(t, file, "")
	eventually(t, "a warning", func() bool { return strings.Contains(s.log.String(), "is empty, and not taken up") })
	if s.news(t).Reload != nil {
		t.Errorf("an empty file was read: %+v", s.news(t))
	}
	write(t, file, "serve:\n  listen: '127.0.0.1:0'\n")
	eventually(t, "a refusal", func() bool { return strings.Contains(s.log.String(), "a reload lets nobody in without a token") })
	if status, _, _ := s.ask(t, "/v1/models", ""); status != 401 || len(f.reloaded) != 0 {
		t.Errorf("without a token: status %d, %d reloads", status, len(f.reloaded))
	}
	write(t, file, "serve: {listen: '127.0.0.1:0', max_rows: 4, tokens: "+tokens+"}\n")
	eventually(t, "the reload", func() bool { n := s.news(t).Reload; return n != nil && n.OK })
}

// A file that changed between its reading and the watch is read again.
func TestWatchFromTheStart(t *testing.T) {
	f, file := newFake(t, complete), filepath.Join(t.TempDir(), "mine.yaml")
	write(t, file, "serve: {listen: '127.0.0.1:0', max_rows: 9}\n")
	set := settings(t, "serve.listen", "127.0.0.1:0")
	set.Files, set.Read = []string{file}, time.Now().Add(-time.Hour)
	start(t, serve.Options{Engine: f, Settings: set, Load: func(context.Context) (serve.Settings, error) {
		cfg, err := config.Load(config.Sources{File: file})
		return serve.Settings{Config: cfg, Files: []string{file}}, err
	}})
	eventually(t, "the reload", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.reloaded) == 1 && f.reloaded[0].Serve.MaxRows == 9
	})
}

// A server whose settings have no source says so, and refuses no request for it.
func TestReloadWithoutSource(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, func(context.Context, engine.Question, *fakeAnswer) error { return nil }), Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	if err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("found %v", err)
	}
}
