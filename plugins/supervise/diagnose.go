package supervise

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// startable finds what would make starting the binary fail, while it can still be said plainly. It also makes a relative
// path absolute, since the plugin may run in another folder.
func startable(spec *Spec) error {
	path, err := filepath.Abs(spec.Path)
	if err != nil {
		return spec.fail(sampling.InvalidConfig, err.Error(), "")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return spec.fail(sampling.InvalidConfig, "there is no file "+spec.Path, "check the path; `mdmhost plugin list` names the plugins at hand")
	case err != nil:
		return spec.fail(sampling.InvalidConfig, "the file cannot be looked at: "+err.Error(), "check the folder's permissions")
	case info.IsDir():
		return spec.fail(sampling.InvalidConfig, spec.Path+" is a folder, expected a plugin's binary", "build the plugin and name the binary")
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		return spec.fail(sampling.InvalidConfig, spec.Path+" is not executable", "chmod +x "+spec.Path)
	}
	spec.Path = path
	return nil
}

// diagnose says in one line why a start failed: what go-plugin says of it is meant for the authors of hosts.
func diagnose(spec *Spec, in *instance, err error) error {
	path := spec.Path
	if in.process.ID() == "" {
		switch {
		case errors.Is(err, errLimits):
			return spec.fail(sampling.InvalidConfig, err.Error(), "lower the limit, or leave it away")
		case errors.Is(err, syscall.ENOEXEC):
			return spec.fail(sampling.InvalidConfig, foreign(path), "build the plugin for "+runtime.GOOS+"/"+runtime.GOARCH)
		case errors.Is(err, fs.ErrNotExist):
			return spec.fail(sampling.InvalidConfig, "the interpreter that its first line names is missing", "correct the line that begins with #!, or build the plugin")
		case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrPermission):
			return spec.fail(sampling.InvalidConfig, "it cannot be started: "+err.Error(), "check its permissions and those of its folder")
		}
		return spec.fail(sampling.Internal, "it cannot be started: "+err.Error(), "check memory and the limit on processes")
	}
	line := in.process.stdout.String()
	fields := strings.Split(line, "|")
	switch {
	case errors.Is(err, errUncertified):
		return spec.fail(sampling.UnsupportedProtocol, "it does not answer with a certificate, and mutual TLS is asked for", "build it with a kit that knows of mutual TLS, or set plugins.mtls=false")
	case len(fields) >= 4 && fields[0] == "1" && fields[1] != fmt.Sprint(wire.Version):
		return spec.fail(sampling.UnsupportedProtocol, fmt.Sprintf("it speaks protocol version %s, this host speaks version %d", clip(fields[1]), wire.Version),
			"use a plugin and a host of the same protocol")
	case len(fields) >= 4 && fields[0] == "1":
		return spec.fail(sampling.UnsupportedProtocol, "its handshake is not one of this host: "+err.Error(), "build the plugin with plugins/sdk, which speaks gRPC")
	case line != "":
		return spec.fail(sampling.UnsupportedProtocol, fmt.Sprintf("it printed %q on standard output before the handshake", clip(line)),
			"is it a plugin of mdmhost? A plugin prints to standard error before it serves")
	case strings.Contains(err.Error(), "timeout"):
		return spec.fail(sampling.Timeout, fmt.Sprintf("no handshake within %v; the process was stopped%s", spec.Deadlines.Start, in.said()),
			"is it a plugin of mdmhost? If it is slow to start, "+spec.Deadlines.Raise)
	}
	if limit := spec.exceeded(in.words.all()); limit != nil {
		return limit
	}
	hint := "is it a plugin of mdmhost? Run it by hand to see what it says"
	if spec.Limits.Memory > 0 && in.said() == "" { // no memory for a last word
		hint = fmt.Sprintf("is %d MiB of memory enough for it to start? raise %s", spec.Limits.Memory>>20, spec.Limits.MemoryName)
	}
	return spec.fail(sampling.Crashed, "it "+ended(in.process.state)+" before the handshake"+in.said(), hint)
}

// said quotes the process's last words.
func (in *instance) said() string {
	if s := in.words.String(); s != "" {
		return "; its log says: " + s
	}
	return ""
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// foreign says what a file is that the system does not run.
func foreign(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return "it is not a program that this system runs"
	}
	defer func() { _ = f.Close() }()
	return fmt.Sprintf("it is built for %s, this machine is %s", strings.ToLower(strings.TrimPrefix(f.Machine.String(), "EM_")), runtime.GOARCH)
}
