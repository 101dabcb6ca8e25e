package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Reattach is where a plugin that runs already is to be found: what it printed when it was started with --debug.
type Reattach wire.Reattach

// afresh is what to do when there is no such process any more.
const afresh = "start it again with --debug and pass on the line that it prints"

// ParseReattach reads the plugins that run already, by their names: a JSON object, or the whole line that a plugin prints when it
// is started with --debug. The empty text has none. Errors say what is wrong, but not where the text came from.
func ParseReattach(text string) (map[string]Reattach, error) {
	text = strings.TrimSpace(text)
	if line, ok := strings.CutPrefix(text, wire.ReattachVar+"="); ok {
		text = strings.Trim(line, "'")
	}
	if text == "" {
		return nil, nil
	}
	var all map[string]Reattach
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf(`expected a JSON object such as {"my-planner":{"kind":"planner","pid":123,"addr":"/tmp/x/socket","protocol":1}}: %w; %s`, err, afresh)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("expected nothing after the JSON object; %s", afresh)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].check(); err != nil {
			return nil, fmt.Errorf("%q: %w; %s", name, err, afresh)
		}
	}
	return all, nil
}

func (r Reattach) check() error {
	switch {
	case !slices.Contains(sampling.Kinds, sampling.Kind(r.Kind)):
		return fmt.Errorf("kind: expected planner, sampler or trainer, found %q", r.Kind)
	case r.Pid < 1:
		return fmt.Errorf("pid: expected the number of a process, found %d", r.Pid)
	case !filepath.IsAbs(r.Addr):
		return fmt.Errorf("addr: expected the absolute path of a socket, found %q", r.Addr)
	case r.Protocol != wire.Version:
		return fmt.Errorf("protocol: this host speaks version %d, found %d", wire.Version, r.Protocol)
	}
	return nil
}

// alive tells whether the process is there; one of another user is.
func (r Reattach) alive() bool {
	p, err := os.FindProcess(r.Pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// gone says what became of the process.
func (r Reattach) gone() string {
	if r.alive() {
		return fmt.Sprintf("the debugged plugin (process %d) closed its connection", r.Pid)
	}
	return fmt.Sprintf("the debugged plugin (process %d) ended", r.Pid)
}

// attach connects to a process that runs already.
func attach(spec *Spec) (*instance, error) {
	r := *spec.Reattach
	if err := r.check(); err != nil {
		return nil, spec.fail(sampling.InvalidConfig, "reattach: "+err.Error(), afresh)
	}
	if info, err := os.Stat(r.Addr); err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, spec.fail(sampling.InvalidConfig, fmt.Sprintf("the debugged plugin (process %d) has ended: there is no socket %s", r.Pid, r.Addr), afresh)
	}
	in := &instance{words: &lastWords{}, attached: &attached{Reattach: r, done: make(chan struct{})}}
	in.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		Plugins:          plugin.PluginSet{string(spec.Kind): &connector{in: in}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  append(wire.DialOptions(), grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: forever})),
		Logger:           hclog.NewNullLogger(),
		Reattach: &plugin.ReattachConfig{
			Protocol: plugin.ProtocolGRPC, ProtocolVersion: wire.Version, Pid: r.Pid, Addr: &net.UnixAddr{Name: r.Addr, Net: "unix"},
			Test:         true, // the process is not go-plugin's to end
			ReattachFunc: func() (runner.AttachedRunner, error) { return in.attached, nil },
		},
	})
	if err := in.connect(spec); err != nil {
		in.close()
		return nil, spec.fail(sampling.InvalidConfig, r.gone()+": "+err.Error(), afresh)
	}
	return in, nil
}

// attached is a process that somebody else started, in go-plugin's eyes. Its end is known by its connection alone.
type attached struct {
	Reattach
	done chan struct{} // closed when the host is done with it
}

// Wait waits until the host is done with the process.
func (a *attached) Wait(context.Context) error { <-a.done; return nil }

// Kill leaves the process to who started it.
func (a *attached) Kill(context.Context) error { return nil }

// ID is the number of the process.
func (a *attached) ID() string { return fmt.Sprint(a.Pid) }

// PluginToHost leaves addresses as they are.
func (*attached) PluginToHost(n, addr string) (string, string, error) { return n, addr, nil }

// HostToPlugin leaves addresses as they are.
func (*attached) HostToPlugin(n, addr string) (string, string, error) { return n, addr, nil }
