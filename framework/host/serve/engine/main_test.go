package engine_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mdmhost/mdmhost/framework/host"
)

// TestMain lets the test binary be the plugin that hosts start, as the mdmhost binary is.
func TestMain(m *testing.M) {
	host.ServePlugin(os.Args)
	goleak.VerifyTestMain(m)
}
