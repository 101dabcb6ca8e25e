// Package supervise starts plugin processes and answers for them: every call has a deadline, a process that hangs is
// killed, one that dies is described by its exit status and its last words and, where that changes nothing, replaced.
// Plugins get no environment of the host, a private folder for their sockets, and a pipe that tells them when the host
// has gone. What comes out are ordinary [sampling.Planner], [sampling.Sampler] and [spec.Trainer] values.
package supervise

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// Spec says which plugin to run and how.
type Spec struct {
	Kind sampling.Kind // planner, sampler or trainer
	Name string        // first-party plugin, or what to call the one at Path; without it, Path
	Path string        // binary of anybody's plugin; empty: this program starts itself as the first-party plugin Name
	Args []string      // arguments for Path
	// Env is the whole environment besides the protocol's own variables: "NAME=value" sets a variable, "NAME" lets the
	// host's through.
	Env       []string
	Dir       string // working folder, or the host's
	Deadlines Deadlines
	Logger    hclog.Logger // takes what the plugin logs and prints; nil drops it
	Digest    string       // of the plugin's files, for the log; "" where nobody has looked
	Limits    Limits
	// MTLS makes host and plugin prove each other who they are, by certificates made for this process (go-plugin's AutoMTLS).
	MTLS bool
	// Reattach connects to a process that somebody else has started, such as a debugger, instead of starting one; nil starts one.
	// Path, Args, Env, Dir, Deadlines, Limits, MTLS and Memory do not hold for it: its author may stop it as long as they like.
	Reattach *Reattach
	// Memory is where the runtime puts logits for the plugin; nil makes one for this plugin alone.
	Memory *shm.Memory
}

// Deadlines bound how long a plugin may take.
type Deadlines struct {
	Start time.Duration // from launch to the handshake; 0 is 10 s
	Call  time.Duration // for one answer, and for a sampler between two requests; 0 is 30 s
	Raise string        // what a user does to give more time, for messages
}

// Limits bound what a plugin's process may take, where the system can; zero values do not bound.
type Limits struct {
	Memory    int64 // bytes of data, as RLIMIT_DATA counts them: what a process writes of its own, but not files nor shared memory
	OpenFiles int

	MemoryName, OpenFilesName string // what a user calls them, for messages
}

// SelfArgs are the arguments with which this program starts itself as a first-party plugin.
func SelfArgs(kind sampling.Kind, name string) []string {
	return []string{wire.SelfCommand, string(kind), name}
}

// object names the plugin in errors, such as "planner eb" or "planner ./mine".
func (s *Spec) object() string {
	return string(s.Kind) + " " + s.Name
}

// log is where lines of the plugin and about it go, under its name.
func (s *Spec) log() hclog.Logger { return s.Logger.Named(filepath.Base(s.Name)) }

// identity is what the log says of where the plugin came from.
func (s *Spec) identity() []any {
	switch {
	case s.Reattach != nil:
		return []any{"socket", s.Reattach.Addr}
	case s.Digest != "":
		return []any{"path", s.Path, "digest", s.Digest}
	}
	return []any{"path", s.Path}
}

// complete fills the defaults in.
func (s *Spec) complete() error {
	if !slices.Contains(sampling.Kinds, s.Kind) {
		return s.fail(sampling.InvalidConfig, "no plugin of this kind can be started", "kinds are planner, sampler and trainer")
	}
	if s.Reattach != nil {
		s.Path, s.MTLS, s.Limits, s.Deadlines = "", false, Limits{}, Deadlines{Start: forever, Call: forever}
	} else if s.Path == "" {
		self, err := os.Executable()
		if err != nil {
			return s.fail(sampling.Internal, "the path of this program is unknown: "+err.Error(), "name a plugin's path instead")
		}
		s.Path, s.Args = self, SelfArgs(s.Kind, s.Name)
	}
	if s.Name == "" {
		s.Name = s.Path
	}
	if s.Deadlines.Start == 0 {
		s.Deadlines.Start = 10 * time.Second
	}
	if s.Deadlines.Call == 0 {
		s.Deadlines.Call = 30 * time.Second
	}
	if s.Deadlines.Raise == "" {
		s.Deadlines.Raise = "give the plugin a longer deadline"
	}
	s.Limits.MemoryName = cmp.Or(s.Limits.MemoryName, "its limit on memory")
	s.Limits.OpenFilesName = cmp.Or(s.Limits.OpenFilesName, "its limit on open files")
	if s.Logger == nil {
		s.Logger = hclog.NewNullLogger()
	}
	for _, v := range s.Env {
		if name, _, _ := strings.Cut(v, "="); name == "" || slices.Contains(reserved, name) {
			return s.fail(sampling.InvalidConfig, fmt.Sprintf("environment %q: expected the name of a variable, but none of those by which host and plugin find each other", v), "leave it out")
		}
	}
	return s.limitable()
}

// reserved are the variables of the protocol.
var reserved = []string{
	wire.Handshake.MagicCookieKey, wire.LifelineVar, wire.SharedVar, certificateVar, plugin.EnvUnixSocketDir, plugin.EnvUnixSocketGroup,
	"PLUGIN_MIN_PORT", "PLUGIN_MAX_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_MULTIPLEX_GRPC",
}

// forever is the deadline of a process that somebody looks at.
const forever = 100 * 365 * 24 * time.Hour

// Command is how the plugin is started, without what ties the process to its host: for those who look at it from outside. The error
// says why it cannot be.
func (s Spec) Command() (*exec.Cmd, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	if err := startable(&s); err != nil {
		return nil, err
	}
	return s.command(), nil
}

// command is the process that is about to be started. The environment holds nothing that nobody asked for.
func (s *Spec) command() *exec.Cmd {
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, []string{}
	for _, v := range s.Env {
		if !strings.Contains(v, "=") {
			value, ok := os.LookupEnv(v)
			if !ok {
				continue
			}
			v += "=" + value
		}
		cmd.Env = append(cmd.Env, v)
	}
	return cmd
}

func (s *Spec) fail(code sampling.Code, problem, hint string) *sampling.Error {
	return &sampling.Error{Code: code, Object: s.object(), Problem: problem, Hint: hint}
}

func (s *Spec) timeout(during string) *sampling.Error {
	return s.fail(sampling.Timeout, fmt.Sprintf("no answer to %s within %v; the process was stopped", during, s.Deadlines.Call),
		s.Deadlines.Raise+", or look for what holds it up in its log")
}
