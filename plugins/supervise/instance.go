package supervise

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// grace is how long a process may take to end when it is asked to.
const grace = 2 * time.Second

// instance is one life of a plugin: a process and the connection to it. It is never started again.
type instance struct {
	process  *process  // nil where somebody else started it
	attached *attached // and then this
	client   *plugin.Client
	tls      *tls.Config // nil without certificates
	log      hclog.Logger
	conn     *grpc.ClientConn
	broker   *plugin.GRPCBroker
	lifeline *os.File // the end whose closing tells the plugin that the host has gone
	words    *lastWords
	sockets  *socketDir
	closing  sync.Once
}

// begin starts a process and connects to it. ctx only bounds the start.
func begin(ctx context.Context, spec *Spec, memory *shm.Memory) (_ *instance, err error) {
	if err := startable(spec); err != nil {
		return nil, err
	}
	in := &instance{words: &lastWords{}, log: spec.log()}
	if in.sockets, err = newSocketDir(); err != nil {
		return nil, spec.fail(sampling.Internal, err.Error(), "")
	}
	cmd := spec.command()
	hear, hold, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(spec.fail(sampling.Exhausted, err.Error(), "raise the limit on open files (ulimit -n)"), in.sockets.remove())
	}
	defer func() { _ = hear.Close() }()
	in.lifeline = hold
	inherit(cmd, wire.LifelineVar, hear)
	if f := memory.File(); f != nil {
		inherit(cmd, wire.SharedVar, f)
	}
	if spec.MTLS {
		var text string
		if in.tls, text, err = certify(); err != nil {
			return nil, errors.Join(spec.fail(sampling.Internal, "its certificate cannot be made: "+err.Error(), ""), hold.Close(), in.sockets.remove())
		}
		cmd.Env = append(cmd.Env, certificateVar+"="+text)
	}
	if in.process, err = newProcess(cmd, spec, in.words); err != nil {
		return nil, errors.Join(spec.fail(sampling.Exhausted, err.Error(), "raise the limit on open files (ulimit -n)"), hold.Close(), in.sockets.remove())
	}
	in.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: wire.Handshake,
		VersionedPlugins: map[int]plugin.PluginSet{
			wire.Version: {string(spec.Kind): &connector{in: in}},
		},
		RunnerFunc: func(_ hclog.Logger, given *exec.Cmd, _ string) (runner.Runner, error) {
			cmd.Env = append(cmd.Env, given.Env...)
			return in.process, nil
		},
		SkipHostEnv:      true,
		StartTimeout:     spec.Deadlines.Start,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		GRPCDialOptions:  wire.DialOptions(),
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: in.sockets.path},
		TLSConfig:        in.tls,
		Logger:           hclog.NewNullLogger(), // what go-plugin says of itself is for the authors of hosts
		SyncStdout:       in.words,
		SyncStderr:       in.words,
	})
	stop := context.AfterFunc(ctx, in.kill)
	err = in.connect(spec)
	if !stop() && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		in.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, diagnose(spec, in, err)
	}
	return in, nil
}

// inherit hands a file down and tells its descriptor in an environment variable.
func inherit(cmd *exec.Cmd, name string, f *os.File) {
	cmd.Env = append(cmd.Env, name+"="+strconv.Itoa(3+len(cmd.ExtraFiles)))
	cmd.ExtraFiles = append(cmd.ExtraFiles, f)
}

// errUncertified is a plugin that does not know of certificates.
var errUncertified = errors.New("no certificate")

func (in *instance) connect(spec *Spec) error {
	if _, err := in.client.Start(); err != nil {
		return err
	}
	if in.tls != nil && in.tls.RootCAs.Equal(x509.NewCertPool()) { // go-plugin fills it from the handshake
		return errUncertified
	}
	protocol, err := in.client.Client()
	if err != nil {
		return err
	}
	_, err = protocol.Dispense(string(spec.Kind))
	return err
}

// connector takes the connection out of go-plugin's hands.
type connector struct {
	plugin.NetRPCUnsupportedPlugin
	in *instance
}

func (*connector) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return errors.ErrUnsupported }

func (c *connector) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	c.in.broker, c.in.conn = broker, conn
	return conn, nil
}

// pid is the number of the process.
func (in *instance) pid() int {
	if in.attached != nil {
		return in.attached.Pid
	}
	return in.process.cmd.Process.Pid
}

// dead tells whether the process is known to have ended.
func (in *instance) dead() bool {
	if in.attached != nil {
		return false
	}
	select {
	case <-in.process.exited:
		return true
	default:
		return false
	}
}

// kill ends the process at once, unless somebody else started it.
func (in *instance) kill() {
	if in.process != nil {
		_ = in.process.Kill(context.Background())
	}
}

// close asks the process to end, kills it when it does not, and removes everything that belonged to it.
func (in *instance) close() {
	in.closing.Do(func() {
		if in.attached != nil {
			in.leave()
			return
		}
		timer := time.AfterFunc(grace, in.kill)
		in.client.Kill()
		timer.Stop()
		_ = in.lifeline.Close()
		_ = in.sockets.remove()
	})
}

// leave ends the connection to a process that goes on.
func (in *instance) leave() {
	if in.conn != nil {
		_, _ = in.broker.Close(), in.conn.Close()
	}
	close(in.attached.done)
}

// gone waits for a process whose connection broke and says how it ended.
func (in *instance) gone() string {
	if in.attached != nil {
		in.close()
		return in.attached.gone()
	}
	select {
	case <-in.process.exited:
	case <-time.After(grace / 2):
		in.kill()
		<-in.process.exited
		in.close()
		return "the process closed its connection"
	}
	in.close()
	return "the process " + ended(in.process.state)
}
