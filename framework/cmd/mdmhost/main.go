// Command mdmhost samples from masked diffusion models: it loads denoisers through ONNX Runtime and drives planners and
// samplers that live in other processes. This package is the command line alone: one file per command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mdmhost/mdmhost/framework/host"
)

func main() {
	host.ServePlugin(os.Args)
	os.Exit(run(os.Args[1:]))
}

// run executes one command and returns its exit code: 0 fine, 1 failure, 2 usage or configuration, 130 and 143 when a
// signal ended it. The first signal ends the command in good order, the second at once.
func run(args []string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	interrupted := make(chan syscall.Signal, 1)
	go func() {
		select {
		case first := <-signals:
			interrupted <- first.(syscall.Signal)
			cancel()
		case <-ctx.Done():
			return
		}
		second := <-signals
		fmt.Fprint(os.Stderr, "\x1b[?25h") // a live screen may have hidden the cursor
		os.Exit(128 + int(second.(syscall.Signal)))
	}()
	root := newRoot()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	select {
	case s := <-interrupted:
		if err != nil && !errors.Is(err, context.Canceled) {
			report(command, err)
		}
		return 128 + int(s)
	default:
		return report(command, err)
	}
}
