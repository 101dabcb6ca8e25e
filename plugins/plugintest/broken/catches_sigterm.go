package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// catchesSigterm catches SIGTERM to save its work, and goes on.
func catchesSigterm() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM)
	planner(func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible()) })
}
