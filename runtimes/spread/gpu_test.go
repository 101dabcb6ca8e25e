//go:build gpu

package spread_test

import (
	"cmp"
	"os"
)

// With the tag gpu the sessions share a GPU, which must be there.
func init() { provider = cmp.Or(os.Getenv("MDMHOST_GPU_PROVIDER"), "cuda") }
