// Package traffic starts a real server process and asks it as many clients do: for benchmarks and endurance tests.
package traffic

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Server is a running `mdmhost serve`.
type Server struct {
	URL string
	PID int

	cmd  *exec.Cmd
	read chan struct{} // closed when its messages end
	mu   sync.Mutex
	said strings.Builder
}

var listening = regexp.MustCompile(`listening on (http://[^\s,]+)`)

// Start starts `BINARY serve` with more arguments on a free port of this machine, and returns when it answers. The context's end kills it.
func Start(ctx context.Context, binary string, args ...string) (*Server, error) {
	cmd := exec.CommandContext(ctx, binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{PID: cmd.Process.Pid, cmd: cmd, read: make(chan struct{})}
	address := make(chan string, 1)
	go s.listen(stderr, address)
	select {
	case s.URL = <-address:
		return s, nil
	case <-s.read:
		return nil, fmt.Errorf("the server ended before it answered (%w): %s", errors.Join(cmd.Wait(), ctx.Err()), s.Said())
	}
}

// listen keeps what the server says, and finds its address in it.
func (s *Server) listen(stderr io.Reader, address chan<- string) {
	defer close(s.read)
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		s.mu.Lock()
		if s.said.Len() < 1<<20 { // a line for each request comes to a lot in ten minutes
			s.said.WriteString(line)
		}
		s.mu.Unlock()
		if found := listening.FindStringSubmatch(line); found != nil {
			select {
			case address <- found[1]:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// Said is what the server has said on its standard error, its first mebibyte.
func (s *Server) Said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

// Signal sends a signal to the server's process.
func (s *Server) Signal(sig syscall.Signal) error { return s.cmd.Process.Signal(sig) }

// Stop ends the server in good order. The error is that of a bad end.
func (s *Server) Stop() error {
	_ = s.Signal(syscall.SIGTERM) // where it is gone, Wait says why
	<-s.read
	err := s.cmd.Wait()
	if code := s.cmd.ProcessState.ExitCode(); code == 0 || code == 128+int(syscall.SIGTERM) {
		return nil
	}
	return fmt.Errorf("the server: %w: %s", err, s.Said())
}

var sample = regexp.MustCompile(`(?m)^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^\n]*\})? (\S+)$`)

// Metrics are the server's metrics, each summed over its labels, and again under NAME{LABELS} as they stand.
func (s *Server) Metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics answers %s: %.200s", s.URL, resp.Status, text)
	}
	out := map[string]float64{}
	for _, m := range sample.FindAllStringSubmatch(string(text), -1) {
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		out[m[1]] += v
		if m[2] != "" {
			out[m[1]+m[2]] = v
		}
	}
	return out, nil
}
