package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// stepped is a row of four: given, written, supposed, and blank.
func stepped(i int) engine.Event {
	return engine.Event{Row: i, Step: &engine.Step{Step: 1, Steps: 3, NFE: 2, Tokens: []int32{5, 6, 0, 0}, Guess: []int32{-1, -1, 8, -1},
		Flags:  []sampling.Flags{sampling.Fixed, 0, sampling.Masked | sampling.Eligible, sampling.Masked},
		Opened: []int32{1}, Remasked: []int32{3}}}
}

// events splits a stream into its events; comments are left out.
func events(t testing.TB, text string) (out []string) {
	t.Helper()
	for _, e := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok && !strings.HasPrefix(e, ":") || strings.Contains(data, "\n") {
			t.Fatalf("no event: %q", e)
		}
		if ok {
			out = append(out, data)
		}
	}
	return out
}

// A stream tells of each step what is given, written and supposed, and ends like a whole answer.
func TestStream(t *testing.T) {
	f := newFake(t, func(ctx context.Context, q engine.Question, a *fakeAnswer) error {
		if !q.Steps {
			return errors.New("a stream wants steps")
		}
		return errors.Join(a.send(ctx, stepped(0)), a.send(ctx, row(0, sampling.FinishComplete, "6678")))
	})
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	status, header, text := s.ask(t, "/v1/completions", `{"stream": true}`)
	if status != 200 || header.Get("Content-Type") != "text/event-stream" || header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("status %d, %v", status, header)
	}
	got := events(t, text)
	if len(got) != 3 || got[2] != "[DONE]" {
		t.Fatalf("events %q", got)
	}
	var first, second struct {
		ID      string
		Object  string
		Seed    uint64
		Notes   []string
		Usage   map[string]int
		Choices []map[string]any
	}
	if err := errors.Join(json.Unmarshal([]byte(got[0]), &first), json.Unmarshal([]byte(got[1]), &second)); err != nil {
		t.Fatal(err)
	}
	group := func(position, id float64, text string) any {
		return map[string]any{"positions": []any{position}, "ids": []any{id}, "texts": []any{text}}
	}
	want := []map[string]any{{"index": 0., "text": "", "finish_reason": nil, "logprobs": nil, "step": map[string]any{"step": 1., "steps": 3., "nfe": 2., "length": 4.,
		"fixed": group(0, 5, "6"), "committed": group(1, 6, "7"), "provisional": group(2, 8, "9"), "opened": []any{1.}, "remasked": []any{3.}}}}
	if diff := cmp.Diff(want, first.Choices); diff != "" {
		t.Errorf("-expected +found\n%s", diff)
	}
	if first.Object != "text_completion" || first.Seed != 7 || first.Usage != nil || len(first.Notes) != 1 || second.Notes != nil || first.ID != second.ID {
		t.Errorf("the first event is %+v, the second %+v", first, second)
	}
	if second.Choices[0]["finish_reason"] != "stop" || second.Choices[0]["text"] != "78" || second.Usage["total_tokens"] != 4 {
		t.Errorf("the second event is %+v", second)
	}
	_, _, text = s.ask(t, "/v1/completions", `{"stream": true, "stream_options": {"include_usage": true}}`)
	if got = events(t, text); len(got) != 4 || strings.Contains(got[1], "usage") || !strings.Contains(got[2], `"choices":[],"usage":{"prompt_tokens":2`) {
		t.Errorf("with an event of usage: %q", got)
	}
}

// While nothing happens a comment says that the server lives; a client that leaves then is noticed, and its rows end.
func TestClientLeaves(t *testing.T) {
	for _, body := range []string{`{"stream": true}`, `{}`} {
		f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
			<-ctx.Done() // rows that run until somebody ends them
			return ctx.Err()
		})
		s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0"), Beat: 5 * time.Millisecond})
		c, in := s.dial(t, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
			map[bool]string{true: "16", false: "2"}[len(body) == 16]+"\r\n\r\n"+body)
		eventually(t, "the question", func() bool { return f.opened() == 1 })
		if len(body) == 16 {
			for beats := 0; beats < 2; {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(line, ": waiting") {
					beats++
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of its rows", func() bool { return f.opened() == 0 })
		eventually(t, "a line of the log", func() bool { return strings.Contains(s.log.String(), "left=") })
	}
}

// A reader that takes nothing is given up, and its rows end.
func TestSlowReader(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, body := range []string{`{"stream": true}`, `{"echo": true}`} {
		f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
			var err error
			for range 64 { // more than the system's buffers hold
				e := stepped(0)
				e.Step.Tokens = make([]int32, 1<<14)
				e.Step.Flags = make([]sampling.Flags, 1<<14)
				if err = a.send(ctx, e); err != nil {
					return err
				}
			}
			e := row(0, sampling.FinishComplete, strings.Repeat(long, 16))
			return errors.Join(err, a.send(ctx, e))
		})
		s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0"), Patience: 300 * time.Millisecond})
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/completions", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		if err := request.Write(c); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the reader is given up", func() bool { return strings.Contains(s.log.String(), "left=") && f.opened() == 0 })
		_ = c.Close()
	}
}

// A client that sends its request drop by drop is cut off; one that sends no whole body is told.
func TestSlowWriter(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0"), Patience: 500 * time.Millisecond})
	_, in := s.dial(t, "POST /v1/completions HTTP/1.1\r\nHost: loc")
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("half a header: expected the end of the connection, found %v", err)
	}
	_, in = s.dial(t, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "slow_body") {
		t.Errorf("half a body: %s: %s", response.Status, text)
	}
}

// A request that is refused does not hold its connection either when the body that it speaks of does not come.
func TestARefusedBodyIsNotWaitedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.tokens", file), Patience: time.Second})
	var all sync.WaitGroup
	for _, c := range []struct {
		request string
		status  int
	}{
		{"POST /healthz", http.StatusMethodNotAllowed}, {"GET /healthz", http.StatusOK}, {"POST /v1/completions", http.StatusUnauthorized},
		{"POST /v1/completions HTTP/1.1\r\nAuthorization: Bearer one", http.StatusUnsupportedMediaType},
	} {
		line, headers, _ := strings.Cut(c.request, " HTTP/1.1\r\n")
		if headers != "" {
			headers += "\r\n"
		}
		conn, in := s.dial(t, line+" HTTP/1.1\r\nHost: localhost\r\n"+headers+"Content-Length: 1000\r\n\r\n")
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // only ends a test that hangs
			t.Fatal(err)
		}
		all.Go(func() {
			response, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Errorf("%s: %v", c.request, err)
				return
			}
			_, _ = io.ReadAll(response.Body)
			_ = response.Body.Close()
			if _, err := in.ReadByte(); response.StatusCode != c.status || !errors.Is(err, io.EOF) {
				t.Errorf("%s: %s, then %v; expected status %d and the end of the connection", c.request, response.Status, err, c.status)
			}
		})
	}
	all.Wait()
}

// A body that is not what its headers say is the client's mistake.
func TestABrokenBody(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	_, in := s.dial(t, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if text, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "broken_body") {
		t.Errorf("%s: %s", response.Status, text)
	}
}
