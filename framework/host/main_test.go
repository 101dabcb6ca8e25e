package host_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/samplers"
	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// TestMain lets the test binary be the plugin that the host starts, as the mdmhost binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "__plugin" {
		switch kind, name := os.Args[2], os.Args[3]; kind {
		case "planner":
			sdk.Serve(planners.All()[name]())
		case "sampler":
			sdk.ServeSampler(samplers.All()[name]())
		default:
			fmt.Fprintln(os.Stderr, "no such kind:", kind)
			os.Exit(2)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
