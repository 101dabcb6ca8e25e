package host

import (
	"fmt"
	"os"
	"runtime"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/proto/wire"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/sdk"
	"github.com/mdmhost/mdmhost/plugins/trainers"
)

// ServePlugin makes a program that opens hosts its own first-party plugins: main calls it first, with os.Args. When the
// host started the program as a plugin, it serves that plugin until the host is done and ends the process; else it
// returns at once.
func ServePlugin(args []string) {
	if len(args) < 4 || args[1] != wire.SelfCommand {
		return
	}
	// A first-party plugin answers one call at a time in microseconds. With one processor an answer needs no second
	// thread to wake up, which takes longer than the answer, and the denoiser keeps the others.
	runtime.GOMAXPROCS(1)
	kind, name := sampling.Kind(args[2]), args[3]
	planner, isPlanner := planners.All()[name]
	sampler, isSampler := samplers.All()[name]
	trainer, isTrainer := trainers.All()[name]
	switch {
	case kind == sampling.KindPlanner && isPlanner:
		sdk.Serve(planner())
	case kind == sampling.KindSampler && isSampler:
		sdk.ServeSampler(sampler())
	case kind == sampling.KindTrainer && isTrainer:
		sdk.ServeTrainerValue(trainer())
	default:
		fmt.Fprintf(os.Stderr, "%s: no %s %q in this program\n", args[0], kind, name)
		os.Exit(2)
	}
	os.Exit(0)
}
