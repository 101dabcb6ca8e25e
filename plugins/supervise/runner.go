package supervise

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// process is one operating system process in go-plugin's eyes. Owning it, rather than leaving it to go-plugin, gives us
// its exit status, its first line on standard output, and the means to end it when it does not answer.
type process struct {
	cmd    *exec.Cmd
	limits Limits
	stdout *greeting
	stderr *relay
	exited chan struct{} // closed when the process is gone and waited for
	state  *os.ProcessState

	mu      sync.Mutex
	started bool
	killed  bool // also before the start, which then fails
}

func newProcess(cmd *exec.Cmd, spec *Spec, words *lastWords) (*process, error) {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	log := newRelay(&flood{pipe: stderr, words: words}, spec.log())
	return &process{cmd: cmd, limits: spec.Limits, stdout: &greeting{pipe: stdout}, stderr: log, exited: make(chan struct{})}, nil
}

// Start starts the process in a group of its own, so that a Ctrl-C for the host is not one for the plugin, and without
// standard input, which is the host's. On Linux the process dies with the host, even before it has heard of the lifeline.
func (p *process) Start(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return context.Canceled
	}
	p.cmd.Stdin = nil
	ownGroup(p.cmd)
	dieWithHost(p.cmd)
	err := make(chan error)
	go p.live(err)
	failed := <-err
	p.started = failed == nil
	return failed
}

// live starts the process and keeps the thread that did until the process is gone: Linux takes the end of that thread
// for the end of the host, and Go may end a thread when the next goroutine that it runs has locked it.
func (p *process) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	if err == nil {
		if err = p.limits.hold(p.cmd.Process.Pid); err != nil {
			_, _ = p.cmd.Process.Kill(), p.cmd.Wait()
		}
	}
	started <- err
	if err == nil {
		<-p.exited
	}
}

// Wait waits for the end. It is called once, by go-plugin, when both pipes have ended.
func (p *process) Wait(context.Context) error {
	err := p.cmd.Wait()
	p.state = p.cmd.ProcessState
	close(p.exited)
	return err
}

// Kill ends the process and its children at once. Pipes that a runaway grandchild still holds are closed on our side.
func (p *process) Kill(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed = true; !p.started {
		return nil
	}
	select {
	case <-p.exited: // its number may belong to somebody else by now
		return nil
	default:
	}
	err := killGroup(p.cmd.Process)
	go func() {
		select {
		case <-p.exited:
		case <-time.After(time.Second):
			_, _ = p.stdout.Close(), p.stderr.Close()
		}
	}()
	return err
}

// wasKilled tells a process that Kill has ended from one that has ended by itself.
func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

func (p *process) Stdout() io.ReadCloser { return p.stdout }
func (p *process) Stderr() io.ReadCloser { return p.stderr }
func (p *process) Name() string          { return p.cmd.Path }
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.started {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

func (*process) Diagnose(context.Context) string                     { return "" }
func (*process) PluginToHost(n, addr string) (string, string, error) { return n, addr, nil }
func (*process) HostToPlugin(n, addr string) (string, string, error) { return n, addr, nil }

// greeting passes the first line of standard output on and remembers it; everything after that is dropped, so that a
// plugin that prints can neither confuse the handshake nor block on a full pipe.
type greeting struct {
	pipe io.ReadCloser
	mu   sync.Mutex
	line []byte
	done bool
}

// longestGreeting is the longest first line that can be a handshake.
const longestGreeting = 4 << 10

// Read reads the first line, then drains until the end.
func (g *greeting) Read(p []byte) (int, error) {
	for {
		n, err := g.pipe.Read(p)
		if n = g.take(p[:n]); n > 0 || err != nil {
			return n, err
		}
	}
}

// take returns how many of the bytes belong to the first line, which always ends in a newline.
func (g *greeting) take(p []byte) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done || len(p) == 0 {
		return 0
	}
	n := len(p)
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		n, g.done = i+1, true
	} else if len(g.line)+n > longestGreeting {
		p[n-1], g.done = '\n', true
	}
	g.line = append(g.line, p[:n]...)
	return n
}

// String returns the first line so far.
func (g *greeting) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(bytes.TrimSpace(g.line))
}

// Close closes the pipe.
func (g *greeting) Close() error { return g.pipe.Close() }
