package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// opensWritten forgets that written positions that are not fixed are none to be opened.
func opensWritten() {
	planner(func(r sdk.Row) sdk.Decision {
		return openAll(r.Written().First(1), r)
	})
}
