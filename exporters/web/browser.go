package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/mdmhost/mdmhost/exporters"
)

// BrowserVariable names the browser that verifies, where no option does.
const BrowserVariable = "PAGE_BROWSER"

// maxAnswer bounds one part of the browser's answer.
const maxAnswer = 1 << 28

// findBrowser returns the path of Chromium: the one named, or one on the path.
func findBrowser(named string) (string, error) {
	if named == "" {
		named = os.Getenv(BrowserVariable)
	}
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("browser %s: %w; name Chromium or Chrome, or none for the one on the path", named, err)
		}
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: no Chromium is on the path; install it, or name one in %s", exporters.ErrNoStack, BrowserVariable)
}

// converse opens the verifying page over the export in dir in a browser without a window, and returns what it posts, by name. The last part
// is "end".
func converse(ctx context.Context, browser, dir string, reference []byte) (map[string][]byte, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	pages, err := fs.Sub(verifier, "verify")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	parts, end := map[string][]byte{}, make(chan error, 1)
	path, mux := "/"+rand.Text(), http.NewServeMux() // nobody else on this machine knows it
	mux.Handle("GET "+path+"/export/", http.StripPrefix(path+"/export/", http.FileServer(http.Dir(dir))))
	mux.Handle("GET "+path+"/verify/", http.StripPrefix(path+"/verify/", http.FileServerFS(pages)))
	mux.HandleFunc("GET "+path+"/verify/reference.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(reference) })
	mux.HandleFunc("POST "+path+"/verify/answer/{name}", func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(io.LimitReader(r.Body, maxAnswer))
		mu.Lock()
		defer mu.Unlock()
		name := r.PathValue("name")
		if parts[name] = b; name == "end" || err != nil {
			select {
			case end <- err:
			default:
			}
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	defer func() { _ = server.Close(); <-served }()
	gone, stop, err := launch(ctx, browser, "http://"+listener.Addr().String()+path+"/verify/")
	if err != nil {
		return nil, err
	}
	defer stop()
	select {
	case err = <-end:
	case <-ctx.Done():
		err = ctx.Err()
	case <-gone:
		err = fmt.Errorf("%s ended before it answered; try it by hand with --headless", browser)
	}
	mu.Lock()
	defer mu.Unlock()
	return parts, err
}

// launch starts the browser with a profile of its own. gone is closed when it ends; stop ends it and removes the profile.
func launch(ctx context.Context, browser, address string) (gone <-chan struct{}, stop func(), err error) {
	profile, err := os.MkdirTemp("", "mdmhost-browser-*")
	if err != nil {
		return nil, nil, err
	}
	args := []string{"--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--remote-debugging-port=0", "--user-data-dir=" + profile}
	if os.Geteuid() == 0 { // its sandbox refuses root
		args = append(args, "--no-sandbox")
	}
	cmd := exec.CommandContext(ctx, browser, append(args, address)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = kill, 5*time.Second
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(profile))
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	return ended, func() {
		_ = kill()
		<-ended
		_ = os.RemoveAll(profile)
	}, nil
}
