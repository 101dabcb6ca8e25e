package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// serverProcess is a real `mdmhost serve`, asked over a socket of the file system.
type serverProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	client *http.Client

	mu   sync.Mutex
	said strings.Builder
	done chan struct{} // closed when it has said all
}

// serveHere starts a server in a folder with a file of settings.
func serveHere(t *testing.T, dir, config string, args ...string) *serverProcess {
	t.Helper()
	file, socket := filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "s")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &serverProcess{t: t, cmd: exec.Command("mdmhost", append([]string{"serve", "--config", file, "--listen", "unix:" + socket}, args...)...), done: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}}
	out, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = s.cmd.Process.Kill() // it has ended, unless the test failed
	})
	go func() {
		defer close(s.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.said.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
		}
	}()
	s.hears("mdmhost: listening on unix:" + socket + ", serving ")
	return s
}

// hears waits until the server has said something; the bound only ends a test that hangs.
func (s *serverProcess) hears(text string) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		said := s.said.String()
		s.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("never said %q: %s", text, said)
		}
	}
}

// ask sends a body, or asks without one, and returns status and answer.
func (s *serverProcess) ask(path, body string) (int, string, error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// answers checks an answer.
func (s *serverProcess) answers(path, body string, status int, want string) {
	s.t.Helper()
	got, text, err := s.ask(path, body)
	if err != nil || got != status || !strings.Contains(text, want) {
		s.t.Errorf("%s %s: expected status %d and %s, found %d, %v: %s", path, body, status, want, got, err, text)
	}
}

// signal sends one.
func (s *serverProcess) signal(which os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(which); err != nil {
		s.t.Fatal(err)
	}
}

// ends checks the exit code.
func (s *serverProcess) ends(code int) {
	s.t.Helper()
	<-s.done
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code {
		s.t.Errorf("expected exit code %d, found %v: %s", code, err, s.said.String())
	}
}

const sudokuQuestion = `{"text": "....7.9.2...356.....5..1..6...1..8....946...567...8.3...36...2.7.....6.........4.", "seed": 3`

// The server answers, takes up a changed file and SIGHUP, keeps what it has where the file is bad, and ends in good order.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	config := "model: sudoku\nruntime.threads: 1\nplanner: eb\n"
	s := serveHere(t, dir, config)
	file := filepath.Join(dir, "mine.yaml")
	s.answers("/readyz", "", 200, `{"status":"ready","models":["sudoku"]}`)
	s.answers("/v1/infill", sudokuQuestion+`}`, 200, `"finish":"complete"`)
	s.answers("/v1/infill", sudokuQuestion+`, "stream": true}`, 200, "data: [DONE]\n\n")
	s.answers("/v1/infill", sudokuQuestion+`, "planner": "confidence", "steps": 3}`, 200, `"nfe":3,"steps":3`)
	s.answers("/v1/planners", "", 200, `"name":"eb"`)
	s.answers("/", "", 200, "<html")
	s.answers("/metrics", "", 200, `mdmhost_rows_total{finish="finished",model="sudoku",planner="eb",sampler="masked"}`)

	if err := os.WriteFile(file, []byte("model: sudoku\nruntime.threads: 1\nplanner: confidence\nserve.max_rows: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.hears(`planner.name: \"eb\" -> \"confidence\"; serve.max_rows: \"64\" -> \"2\"`)
	s.answers("/v1/infill", sudokuQuestion+`, "n": 3}`, 400, `serve.max_rows`)
	if err := os.WriteFile(file, []byte("model: sudok\nsteps: many\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.hears("the new settings are refused, the old ones stay")
	s.hears(`did you mean \"sudoku\"?`)
	s.answers("/readyz", "", 200, `"ok":false`)
	s.answers("/v1/infill", sudokuQuestion+`}`, 200, `"finish":"complete"`)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.hears(`planner.name: \"confidence\" -> \"eb\"`)
	s.signal(syscall.SIGHUP)
	s.hears("nothing; models were opened anew")
	s.signal(syscall.SIGTERM)
	s.ends(143)
	if _, err := os.Stat(filepath.Join(dir, "s")); err == nil {
		t.Error("the socket is left behind")
	}
}

// A server that is told to stop ends the rows on their way; told twice it ends at once.
func TestServeSignals(t *testing.T) {
	long := `{"model": "text", "max_tokens": 60, "n": 24}`
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprint(twice), func(t *testing.T) {
			s := serveHere(t, t.TempDir(), "model: text\nruntime.threads: 1\n")
			answered := make(chan string, 1)
			go func() {
				status, text, err := s.ask("/v1/completions", long)
				answered <- fmt.Sprintf("%d %v %s", status, err, text)
			}()
			for running := false; !running; {
				_, text, err := s.ask("/metrics", "")
				if err != nil {
					t.Fatal(err)
				}
				running = strings.Contains(text, `mdmhost_rows_running{model="text",planner="confidence",sampler="masked"} 8`)
			}
			s.signal(syscall.SIGINT)
			s.hears("stopping")
			if twice {
				s.signal(syscall.SIGINT)
				s.ends(130)
				<-answered
				return
			}
			s.answers("/readyz", "", 503, "draining")
			if a := <-answered; !strings.HasPrefix(a, "200 <nil>") || strings.Count(a, `"finish":"complete"`) != 24 {
				t.Errorf("the request on its way: %.300s", a)
			}
			s.ends(130)
		})
	}
}
