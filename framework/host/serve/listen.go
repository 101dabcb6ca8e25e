package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/net/netutil"

	"github.com/mdmhost/mdmhost/framework/host/config"
)

// Listen opens serve.listen: HOST:PORT, where port 0 is any that is free, or unix:PATH. No more than serve.connections are accepted at
// once. A socket that a server left behind when it was killed is replaced; one that a server listens on is not.
func Listen(cfg *config.Config) (net.Listener, error) {
	address := cfg.Serve.Listen
	problem := func(format string, args ...any) error {
		return config.Problems{{Origin: cfg.Origin("serve.listen"), Key: "serve.listen", Text: fmt.Sprintf(format, args...)}}
	}
	var l net.Listener
	var err error
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if err := vacate(path); err != nil {
			return nil, problem("%v; name another path", err)
		}
		l, err = net.Listen("unix", path)
	} else {
		if _, _, split := net.SplitHostPort(address); split != nil {
			return nil, problem("expected HOST:PORT, such as 127.0.0.1:8080, or unix:PATH, found %q", address)
		}
		l, err = net.Listen("tcp", address)
	}
	if err != nil {
		return nil, problem("%v; name another address", err)
	}
	return netutil.LimitListener(l, cfg.Serve.Connections), nil
}

// vacate removes a socket that nobody listens on.
func vacate(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s: exists and is no socket", path)
	}
	if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
		_ = c.Close() // it was only to see whether somebody listens
		return fmt.Errorf("%s: another server listens there", path)
	}
	return os.Remove(path)
}

// Address is where a listener can be asked, as people write it: http://127.0.0.1:8080, or unix:PATH.
func Address(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return "http://" + a.String()
}
