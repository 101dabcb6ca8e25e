package main

import (
	"fmt"
	"os"
)

// exitsAtOnce wants a file that is not there.
func exitsAtOnce() {
	fmt.Fprintln(os.Stderr, "cannot open weights.npz: no such file")
	os.Exit(1)
}
