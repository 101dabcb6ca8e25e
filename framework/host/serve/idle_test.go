package serve_test

import (
	"flag"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mdmhost/mdmhost/framework/host/serve"
)

// idle is how many connections TestIdleConnections holds.
var idle = flag.Int("idle", 1000, "idle connections")

// Connections that wait for nothing cost little, and keep nobody from asking. Both ends of each are in this process.
func TestIdleConnections(t *testing.T) {
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil || most.Cur < uint64(2**idle+100) {
		t.Fatalf("%d connections need %d files, and the limit is %d (%v); raise it with ulimit -n", *idle, 2**idle+100, most.Cur, err)
	}
	s := start(t, serve.Options{Engine: newFake(t, complete), Settings: settings(t, "serve.listen", "127.0.0.1:0")})
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := used()
	held := make([]net.Conn, *idle)
	answer := make([]byte, 4096)
	for i := range held {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		held[i] = c
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 200") {
			t.Fatalf("connection %d: %q, %v", i, answer[:n], err)
		}
	}
	each := int64(used()-before) / int64(*idle)
	t.Logf("%d idle connections: %d bytes each", *idle, each)
	if each > 40_000 {
		t.Errorf("%d bytes for an idle connection, expected at most 40,000", each)
	}
	if status, _, _ := s.ask(t, "/v1/completions", `{}`); status != http.StatusOK {
		t.Errorf("a request beside them: status %d", status)
	}
	for _, c := range held {
		_ = c.Close()
	}
}
