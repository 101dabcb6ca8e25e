package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// DebugFlag is the argument with which a plugin that is started by hand serves until Ctrl-C, for a debugger: it prints on standard
// output one line, MDMHOST_REATTACH='...', that connects runs to it. Nothing bounds its time then.
const DebugFlag = "--debug"

// longestDebugDir leaves room for the names of sockets in the 108 bytes that their paths may have.
const longestDebugDir = 64

// debugServer serves the runs that connect to a plugin started with [DebugFlag], one at a time. go-plugin serves one host and ends;
// so each run has a server of its own, behind one socket that stays.
type debugServer struct {
	dir    string // private; holds the sockets
	config plugin.ServeConfig
	log    hclog.Logger
	turn   chan struct{} // has room for the one run that is served
}

// patience is how long a run waits for the one before to be gone.
const patience = 2 * time.Second

// serveDebug serves until the process is interrupted and returns its exit status.
func serveDebug(d sampling.Description, broken error, register registration) int {
	if broken != nil {
		fmt.Fprintln(os.Stderr, broken)
		return 1
	}
	log := hclog.New(&hclog.LoggerOptions{Name: d.Name, Level: hclog.Debug, Output: os.Stderr})
	slog.SetDefault(slog.New(logs{to: log}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serveRuns(ctx, d, config(d, link{stderr: os.Stderr, log: log}, register), log); err != nil {
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", d.Kind, d.Name, err)
		return 1
	}
	return 0
}

// serveRuns serves until ctx ends.
func serveRuns(ctx context.Context, d sampling.Description, config *plugin.ServeConfig, log hclog.Logger) (err error) {
	parent := os.TempDir()
	if len(parent) > longestDebugDir {
		parent = "/tmp"
	}
	s := &debugServer{config: *config, log: log, turn: make(chan struct{}, 1)}
	if s.dir, err = os.MkdirTemp(parent, "mdmhost-debug-"); err != nil { // mode 0700
		return fmt.Errorf("folder for its socket: %w; set TMPDIR to a folder that it may write", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	if err := os.Setenv(plugin.EnvUnixSocketDir, s.dir); err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(s.dir, "socket"))
	if err != nil {
		return err
	}
	where, err := json.Marshal(map[string]wire.Reattach{d.Name: {Kind: string(d.Kind), Pid: os.Getpid(), Addr: l.Addr().String(), Protocol: wire.Version}})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(os.Stderr, "%s %s serves runs until Ctrl-C. Set this variable where you start mdmhost, and name the plugin there with --%s %s:\n",
		d.Kind, d.Name, d.Kind, d.Name)
	fmt.Printf("%s='%s'\n", wire.ReattachVar, where)
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	var runs sync.WaitGroup
	defer runs.Wait()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		runs.Go(func() { s.serve(ctx, conn) })
	}
}

// serve serves one run.
func (s *debugServer) serve(ctx context.Context, host net.Conn) {
	defer func() { _ = host.Close() }()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-time.After(patience):
		s.log.Warn("another run asked for the plugin while one goes on, and was turned away")
		return
	}
	ctx, done := context.WithCancel(ctx)
	defer done()
	at, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	config := s.config
	config.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: at, CloseCh: closed}
	go plugin.Serve(&config)
	var inner net.Conn
	select {
	case <-closed: // it has logged why
		return
	case r := <-at:
		var err error
		if inner, err = net.Dial(r.Addr.Network(), r.Addr.String()); err != nil {
			s.log.Error("the run cannot be served", "error", err)
			return
		}
	}
	s.log.Info("a run has connected")
	stop := context.AfterFunc(ctx, func() { _, _ = host.Close(), inner.Close() })
	defer stop()
	go func() {
		_, _ = io.Copy(inner, host) // ends with either connection
		done()
	}()
	_, _ = io.Copy(host, inner)
	done()
	<-closed
	s.log.Info("the run has ended; the next may come")
}
