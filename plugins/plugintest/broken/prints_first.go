package main

import (
	"fmt"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// printsFirst greets before the handshake.
func printsFirst() {
	fmt.Println("my planner 1.0, loading ...")
	planner(func(r sdk.Row) sdk.Decision { return r.Open(r.Eligible()) })
}
