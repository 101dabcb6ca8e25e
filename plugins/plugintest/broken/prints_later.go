package main

import (
	"fmt"
	"os"
)

// printsLater prints what it does on standard output.
func printsLater() {
	screen := os.NewFile(1, "stdout") // go-plugin takes os.Stdout away
	bare{start: func() { fmt.Fprintln(screen, "a run begins") }}.serve()
}
