package sdk

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/plugins/proto/shm"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
)

// link is what a plugin process has of its host.
type link struct {
	broker  *plugin.GRPCBroker
	mapping *shm.Mapping
	log     hclog.Logger
	stderr  *os.File
}

// guard wraps every call: a panic becomes INTERNAL with the stack in the log, and the process lives on; an error becomes
// a status that keeps its code. Before the first call it sends what the author prints to the log, standard output
// included: go-plugin has put pipes in their place that lose the last lines of a crash.
func (l link) guard() grpc.UnaryServerInterceptor {
	var once sync.Once
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (reply any, err error) {
		once.Do(func() { os.Stdout, os.Stderr = l.stderr, l.stderr })
		defer func() {
			if cause := recover(); cause != nil {
				stack := stackOfPanic()
				l.log.Error("panic in "+info.FullMethod, "panic", fmt.Sprint(cause), "stack", stack)
				err = wire.ToStatus(&sampling.Error{Code: sampling.Internal, Problem: fmt.Sprintf("panic in the plugin: %v%s", cause, lineOf(stack)), Hint: panicHint(cause)})
			}
		}()
		reply, err = handler(ctx, req)
		return reply, wire.ToStatus(err)
	}
}

// panicHint says where to look. The commonest mistake of authors is to read what they have not asked for.
func panicHint(cause any) string {
	hint := "the plugin's log has the stack; report it to the plugin's author"
	if strings.HasSuffix(fmt.Sprint(cause), "with length 0") {
		return "a statistic that the plugin does not declare (sdk.Needs) is empty; " + hint
	}
	return hint
}

// inheritedMemory returns the host's shared memory, or nil where there is none.
func inheritedMemory() *shm.Mapping {
	if fd, ok := inherited(wire.SharedVar); ok {
		return shm.Open(fd)
	}
	return nil
}

// watchLifeline ends the process when the host is gone, however it went.
func watchLifeline() {
	fd, ok := inherited(wire.LifelineVar)
	if !ok {
		return
	}
	pipe := os.NewFile(fd, "lifeline")
	go func() {
		// The host never writes: the read returns when the last holder of the other end has gone.
		_, _ = pipe.Read(make([]byte, 1))
		if dir := os.Getenv(plugin.EnvUnixSocketDir); dir != "" {
			_ = os.RemoveAll(dir)
		}
		os.Exit(0)
	}()
}

// inherited reads the number of an inherited file descriptor from the environment.
func inherited(name string) (uintptr, bool) {
	fd, err := strconv.ParseUint(os.Getenv(name), 10, 16)
	return uintptr(fd), err == nil && fd > 2
}
