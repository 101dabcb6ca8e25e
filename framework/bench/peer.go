package main

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed peers/*.py
var scripts embed.FS

// size is what one measurement runs: a batch of B rows of L positions, all masked but the first and the last, filled in
// Steps forward passes on so many threads.
type size struct {
	B       int `json:"b"`
	L       int `json:"l"`
	Threads int `json:"threads"`
	Steps   int `json:"steps"`
}

func (s size) String() string { return fmt.Sprintf("b%d_l%d_t%d", s.B, s.L, s.Threads) }

// peer is a Python process that measures itself on request, so that its start does not count.
type peer struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

// missing says that the interpreter lacks a package that the peer needs.
type missing string

func (m missing) Error() string { return string(m) }

// unpack writes the peers' scripts to a new directory.
func unpack() (string, error) {
	dir, err := os.MkdirTemp("", "mdmhost-bench-")
	if err != nil {
		return "", err
	}
	return dir, os.CopyFS(dir, scripts)
}

// startPeer starts a script and waits until it says what it is.
func startPeer(python, script string, args ...string) (*peer, error) {
	return startProcess(exec.Command(python, append([]string{"-B", script}, args...)...))
}

// startTorch starts a peer that needs PyTorch. Where the interpreter lacks it there is none, and a line that says so.
func (b bench) startTorch(dir, script string, args ...string) (*peer, error) {
	p, err := startPeer(b.python, filepath.Join(dir, "peers", script), args...)
	var lacks missing
	switch {
	case errors.As(err, &lacks):
		fmt.Printf("peer torch missing\n# %s: %s\n", b.python, lacks)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w; `just peers` makes the environment, or set MDMHOST_PEERS", err)
	}
	return p, nil
}

// startProcess starts a peer of any kind.
func startProcess(cmd *exec.Cmd) (*peer, error) {
	cmd.Stderr = os.Stderr
	p := &peer{cmd: cmd}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var hello struct{ Peer, Missing string }
	if err := p.read(&hello); err != nil {
		return nil, errors.Join(err, p.close())
	}
	if hello.Missing != "" {
		return nil, errors.Join(missing(hello.Missing), p.close())
	}
	p.name = hello.Peer
	return p, nil
}

func (p *peer) read(v any) error {
	if !p.out.Scan() {
		return errors.Join(fmt.Errorf("peer %s ended without an answer; its own message stands above", filepath.Base(p.cmd.Args[min(2, len(p.cmd.Args)-1)])), p.out.Err())
	}
	return json.Unmarshal(p.out.Bytes(), v)
}

// measure returns the milliseconds per forward pass. what is "loop" (statistics and selection included), "bare" (the
// network alone) or a loop that the script knows.
func (p *peer) measure(what string, s size) (float64, error) {
	var answer struct{ MS float64 }
	err := p.ask(struct {
		What string `json:"what"`
		size
	}{what, s}, &answer)
	return answer.MS, err
}

// ask sends a request and waits for the answer.
func (p *peer) ask(request, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return err
	}
	return p.read(answer)
}

// close ends the process by closing its input.
func (p *peer) close() error {
	return errors.Join(p.in.Close(), p.cmd.Wait())
}
