package main

import (
	"fmt"
	"os"
)

// losesLock locks a file in its working folder and does not look whether who locked it still lives.
func losesLock() {
	name := os.Args[0] + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, "it runs already:", err)
		os.Exit(1)
	}
	_ = f.Close()
	bare{ended: func() { _ = os.Remove(name) }}.serve()
}
