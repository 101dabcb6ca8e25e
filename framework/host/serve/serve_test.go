package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

func logger(to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "serve", Output: to})
}

// A whole answer is OpenAI's object, with what the engine said of each row, in the rows' order.
func TestWholeAnswer(t *testing.T) {
	f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
		return errors.Join(a.send(ctx, row(1, sampling.FinishSteps, "6678")), a.send(ctx, row(0, sampling.FinishComplete, "6678")))
	})
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	status, header, text := s.ask(t, "/v1/completions", `{"prompt": "66", "n": 2, "details": true}`)
	if status != 200 || header.Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, %v: %s", status, header, text)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if id, _ := got["id"].(string); !strings.HasPrefix(id, "cmpl-") || got["created"].(float64) < 1e9 {
		t.Errorf("id %v, created %v", got["id"], got["created"])
	}
	delete(got, "id")
	delete(got, "created")
	choice := func(i int, reason, finish string) any {
		return map[string]any{"index": float64(i), "text": "78", "finish_reason": reason, "logprobs": nil, "finish": finish, "tokens": []any{5., 5., 6., 7.}, "length": 4.,
			"nfe": 2., "steps": 2., "ms": 1.5, "step_map": []any{-1., -1., 0., 1.}}
	}
	want := map[string]any{"object": "text_completion", "model": "sudoku", "seed": 7., "notes": []any{"a note"}, "digests": map[string]any{"model": "d1"},
		"usage":   map[string]any{"prompt_tokens": 2., "completion_tokens": 4., "total_tokens": 6.},
		"choices": []any{choice(0, "stop", "complete"), choice(1, "length", "steps")}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-expected +found\n%s", diff)
	}
	if _, _, text := s.ask(t, "/v1/completions", `{"prompt": "66", "n": 2, "echo": true}`); !strings.Contains(text, `"text":"6678"`) || strings.Contains(text, "step_map") {
		t.Errorf("with echo and without details: %s", text)
	}
	if log := s.log.String(); !strings.Contains(log, "path=/v1/completions status=200") || !strings.Contains(log, `rows=2 seed=7 nfe=4 tokens=4 stream=false finish="complete:1 steps:1"`) || strings.Contains(log, "55\"") {
		t.Errorf("log: %s", log)
	}
}

// Rows without an answer are told; a request without any fails.
func TestFailedRows(t *testing.T) {
	for _, c := range []struct {
		how    []sampling.Finish
		status int
		text   string
	}{
		{[]sampling.Finish{sampling.FinishComplete, sampling.FinishError}, 200, `"index":1,"text":"","finish_reason":null,"logprobs":null,"finish":"error","error":"row 0: the logits are not numbers"`},
		{[]sampling.Finish{sampling.FinishError, sampling.FinishCancelled}, 500, `"message":"no row was answered: row 0: the logits are not numbers","type":"server_error","param":null,"code":"rows_failed"`},
	} {
		f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) (err error) {
			for i, how := range c.how {
				e := row(i, how, "6678")
				if how != sampling.FinishComplete {
					e.Done.Text, e.Done.Tokens = "", []int32{}
				}
				err = errors.Join(err, a.send(ctx, e))
			}
			return err
		})
		s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0")})
		if status, _, text := s.ask(t, "/v1/completions", `{"n": 2}`); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%v: status %d: %s", c.how, status, text)
		}
		if _, _, text := s.ask(t, "/v1/completions", `{"n": 2, "stream": true}`); strings.Contains(text, `data: {"error":`) != (c.status != 200) || !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Errorf("%v: a stream says %s", c.how, text)
		}
	}
}

// A client that suppresses every token is told so as its own mistake; where the server's settings do, it is the server's.
func TestSuppressedRows(t *testing.T) {
	f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
		e := row(0, sampling.FinishError, "")
		e.Err = fmt.Errorf("row 0: the logits %w", sampling.ErrSuppressed)
		e.Done.Error = e.Err.Error()
		return a.send(ctx, e)
	})
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	for body, want := range map[string]int{`{"sampling": {"suppress_tokens": [1]}}`: 400, `{}`: 500} {
		status, _, text := s.ask(t, "/v1/completions", body)
		if status != want || !strings.Contains(text, "leave no token that may be written; shorten sampling.suppress_tokens") || (want == 400) != strings.Contains(text, `"param":"sampling.suppress_tokens","code":null`) {
			t.Errorf("%s: status %d: %s", body, status, text)
		}
	}
	if _, _, text := s.ask(t, "/v1/completions", `{"stream": true, "sampling": {"suppress_tokens": [1]}}`); !strings.Contains(text, `"type":"invalid_request_error"`) || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("a stream says %s", text)
	}
}

// What the engine refuses has the status and the words that clients know.
func TestRefusals(t *testing.T) {
	f := newFake(t, complete)
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.max_body", "100")})
	large := `{"prompt": "` + strings.Repeat("x", 100) + `"}`
	for _, c := range []struct {
		refuse             error
		method, path, body string
		header             []string
		status             int
		text, after, allow string
	}{
		{method: "POST", path: "/v1/completions", body: `{"model": "sudok"}`, status: 404, text: `"param":"model","code":"model_not_found"`},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: engine.ErrBusy, status: 429, text: `"type":"rate_limit_error","param":null,"code":"queue_full"`, after: "1"},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: engine.ErrDraining, status: 503, text: `"code":"draining"`, after: "1"},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: &engine.RequestError{Param: "steps", Text: "too many"}, status: 400, text: `"message":"steps: too many","type":"invalid_request_error","param":"steps"`},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: &engine.RequestError{Text: "prompt[1]: too long"}, status: 400, text: `"param":"prompt[1]"`},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: errors.New("disk on fire"), status: 500, text: `"code":"internal"`},
		{method: "POST", path: "/v1/completions", body: `{}`, refuse: fmt.Errorf("ask: %w", context.DeadlineExceeded), status: 504, text: `"code":"timeout"`},
		{method: "POST", path: "/v1/completions", body: large, status: 413, text: `"body: more than 100 bytes; send less, or raise serve.max_body"`},
		{method: "POST", path: "/v1/completions", body: `{}`, header: []string{"Content-Type", "text/plain"}, status: 415, text: `expected application/json`},
		{method: "POST", path: "/v1/completions", body: `{}`, header: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, text: `latin1`},
		{method: "POST", path: "/v1/completions", body: `{}`, header: []string{"Content-Encoding", "gzip"}, status: 415, text: `expected none`},
		{method: "GET", path: "/v1/completions", status: 405, text: `expected POST, found GET`, allow: "POST"},
		{method: "DELETE", path: "/v1/models", status: 405, text: `expected GET, found DELETE`, allow: "GET"},
		{method: "GET", path: "/v1/completion", status: 404, text: `there is no such path; there are /v1/completions`},
		{method: "GET", path: "/", status: 404, text: `the page is switched off`},
		{method: "GET", path: "/v1/models/other", status: 404, text: `model_not_found`},
	} {
		f.mu.Lock()
		f.refuse = c.refuse
		f.mu.Unlock()
		status, header, text := s.do(t, c.method, c.path, c.body, c.header...)
		if status != c.status || !strings.Contains(text, c.text) || !strings.HasPrefix(text, `{"error":{`) || header.Get("Retry-After") != c.after || header.Get("Allow") != c.allow {
			t.Errorf("%s %s %.40s: status %d, %v: %s", c.method, c.path, c.body, status, header, text)
		}
	}
	if n := f.opened(); n != 0 {
		t.Errorf("%d answers are open", n)
	}
}

// Models, plugins, health and metrics are told.
func TestLists(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0"), Page: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })})
	s.ask(t, "/v1/completions", `{}`)
	for path, want := range map[string][]string{
		"/v1/models":        {`{"object":"list","data":[{"id":"sudoku","object":"model","created":7,"owned_by":"mdmhost","family":"masked","mask_text":"[MASK]","blank":"."`},
		"/v1/models/sudoku": {`{"id":"sudoku","object":"model"`},
		"/v1/planners":      {`{"object":"list","data":[{"object":"planner","name":"eb","can_remask":false,"can_insert":false,"adaptive":false,"options":{"type":"object"}}]}`},
		"/v1/samplers":      {`"name":"masked"`},
		"/healthz":          {`{"status":"alive"}`},
		"/readyz":           {`{"status":"ready","models":["sudoku"]}`},
		"/":                 {"a page"},
		"/metrics": {`mdmhost_http_requests_total{route="/v1/completions",status="200"} 1`, `mdmhost_http_request_seconds_count{route="/v1/completions"} 1`, "mdmhost_queue_rows 3",
			`mdmhost_rows_total{finish="finished",model="sudoku",planner="eb",sampler="masked"} 5`, `mdmhost_nfe_total{model="sudoku",planner="eb",sampler="masked"} 40`,
			`mdmhost_first_news_seconds_count 1`, `mdmhost_http_connections{state="active"} 1`, `mdmhost_reloads_total{result="refused"} 0`, "go_goroutines ", "mdmhost_http_requests_in_flight 1"},
	} {
		status, _, text := s.ask(t, path, "")
		for _, w := range want {
			if status != 200 || !strings.Contains(text, w) {
				t.Errorf("%s: status %d, expected %s, found %s", path, status, w, text)
			}
		}
	}
}

// A bad address, file of tokens, origin or collector is refused at the start.
func TestBadSettings(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(empty, []byte("# none yet\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"serve.origins", `["example.org"]`, "serve.origins", "write scheme, host and port alone"}, {"serve.tokens", empty, "serve.tokens", "expected a token a line"},
		{"serve.tokens", "nowhere", "serve.tokens", "no such file"}, {"serve.otlp", "localhost:4318", "serve.otlp", "expected an address such as"},
		{"serve.listen", "8080", "serve.listen", "expected HOST:PORT"}, {"serve.listen", "unix:" + empty, "serve.listen", "is no socket"}, {"serve.listen", "203.0.113.1:80", "serve.listen", "name another address"},
	} {
		set := settings(t, c[0], c[1])
		_, err := serve.New(serve.Options{Engine: newFake(t, complete), Settings: set})
		if err == nil {
			_, err = serve.Listen(set.Config)
		}
		var problems config.Problems
		if !errors.As(err, &problems) || problems[0].Key != c[2] || !strings.Contains(problems[0].Text, c[3]) {
			t.Errorf("%s=%s: found %v", c[0], c[1], err)
		}
	}
}
