package main

import "github.com/mdmhost/mdmhost/plugins/sdk"

// remasksUndeclared revises what is written without having said so.
func remasksUndeclared() {
	planner(func(r sdk.Row) sdk.Decision {
		if r.Step == 0 {
			return r.Remask(r.Written()).Open(r.Eligible())
		}
		return r.Open(r.Eligible())
	})
}
