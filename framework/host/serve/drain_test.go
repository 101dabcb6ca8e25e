package serve_test

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mdmhost/mdmhost/framework/host/serve"
	"github.com/mdmhost/mdmhost/framework/host/serve/engine"
	"github.com/mdmhost/mdmhost/framework/sampling"
)

// told is what a request in the background was told.
type told struct {
	status int
	text   string
}

// A server that is told to stop says so, refuses questions, and ends those on their way.
func TestDrain(t *testing.T) {
	hold := make(chan struct{})
	var held atomic.Bool
	f := newFake(t, func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
		if held.CompareAndSwap(false, true) { // later ones come between the news and the engine's refusals
			<-hold
		}
		return a.send(ctx, row(0, sampling.FinishComplete, "6678"))
	})
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	answers := make(chan told, 1)
	go func() {
		status, _, text := s.ask(t, "/v1/completions", `{}`)
		answers <- told{status, text}
	}()
	eventually(t, "the question", func() bool { return f.opened() == 1 })
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	eventually(t, "the news", func() bool {
		status, _, text := s.ask(t, "/readyz", "")
		return status == 503 && strings.Contains(text, `"status":"draining"`)
	})
	eventually(t, "refusals", func() bool {
		status, _, text := s.ask(t, "/v1/completions", `{}`)
		return status == 503 && strings.Contains(text, `"code":"draining"`)
	})
	if status, _, _ := s.ask(t, "/healthz", ""); status != 200 {
		t.Errorf("a server that drains is alive: status %d", status)
	}
	close(hold)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if a := <-answers; a.status != 200 || !strings.Contains(a.text, `"finish":"complete"`) {
		t.Errorf("the answer on its way: %+v", a)
	}
}

// Rows that outlast serve.drain, or serve.timeout, end, and their clients are told why.
func TestTooLate(t *testing.T) {
	hold := make(chan struct{})
	cancelled := func(ctx context.Context, _ engine.Question, a *fakeAnswer) error {
		<-hold // until the engine ends them
		return a.send(ctx, row(0, sampling.FinishCancelled, ""))
	}
	f := newFake(t, cancelled)
	s := start(t, serve.Options{Engine: f, Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.drain", "0")})
	answers := make(chan told, 1)
	go func() {
		status, _, text := s.ask(t, "/v1/completions", `{"stream": true}`)
		answers <- told{status, text}
	}()
	eventually(t, "the question", func() bool { return f.opened() == 1 })
	go func() {
		eventually(t, "the end of the time to drain", func() bool { return strings.Contains(s.log.String(), "rows on their way were cancelled") })
		close(hold)
	}()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if a := <-answers; !strings.Contains(a.text, `"finish":"cancelled"`) || !strings.Contains(a.text, `"code":"draining"`) || !strings.HasSuffix(a.text, "[DONE]\n\n") {
		t.Errorf("a row that was cancelled: %+v", a)
	}
	s = start(t, serve.Options{Engine: newFake(t, cancelled), Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.timeout", "1e-9")})
	if status, _, text := s.ask(t, "/v1/completions", `{}`); status != http.StatusGatewayTimeout || !strings.Contains(text, `"code":"timeout"`) {
		t.Errorf("a request that took too long: status %d: %s", status, text)
	}
}

// A server listens on a socket of the file system, replaces one that a killed server left, and leaves one alone that is in use.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	set := settings(t, "serve.listen", "unix:"+path)
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: set})
	if s.url != "unix:"+path {
		t.Errorf("the address is %s", s.url)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://any.name/readyz")
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%v, %v", response, err)
	}
	_ = response.Body.Close()
	if _, err := serve.Listen(set.Config); err == nil || !strings.Contains(err.Error(), "another server listens there") {
		t.Errorf("a second server: %v", err)
	}
}

// A connection more than serve.connections waits until one is closed.
func TestConnectionLimit(t *testing.T) {
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0", "serve.connections", "1")})
	const get = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	first, in := s.dial(t, get)
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	second, in := s.dial(t, get)
	_ = second.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := in.Peek(1); err == nil {
		t.Error("a second connection was served beside the first")
	}
	_ = second.SetReadDeadline(time.Time{})
	_ = first.Close()
	if response, err := http.ReadResponse(in, nil); err != nil || response.StatusCode != 200 {
		t.Errorf("the second connection, after the first: %v, %v", response, err)
	}
}
