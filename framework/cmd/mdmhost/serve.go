package main

import (
	"fmt"
	"os"

	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// asPlugin tells whether the host started this binary as a first-party plugin: mdmhost __plugin KIND NAME.
func asPlugin(args []string) (kind, name string, ok bool) {
	if len(args) != 4 || args[1] != "__plugin" {
		return "", "", false
	}
	return args[2], args[3], true
}

// servePlugin serves a first-party plugin until the host is done. It returns only when there is none of that name.
func servePlugin(kind, name string) int {
	switch kind {
	case "planner":
		if make, ok := planners.All()[name]; ok {
			sdk.Serve(make())
			return 0
		}
	case "sampler":
		if make, ok := samplers.All()[name]; ok {
			sdk.ServeSampler(make())
			return 0
		}
	}
	fmt.Fprintf(os.Stderr, "mdmhost: no %s %q in this binary\n", kind, name)
	return 2
}
