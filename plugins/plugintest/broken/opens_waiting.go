package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// opensWaiting opens what is masked, although positions of later blocks have to wait.
func opensWaiting() {
	planner(func(r sdk.Row) sdk.Decision {
		return r.Open(r.Masked())
	})
}
