package main

import (
	"bytes"
	"encoding/json"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// kSchema is the schema of an option k from 1 to 9.
const kSchema = `{"type": "object", "properties": {"k": {"type": "integer", "default": 4, "minimum": 1, "maximum": 9, "description": "positions"}}}`

// noOptions refuses every option.
func noOptions(options []byte) error {
	var given map[string]any
	if err := json.Unmarshal(options, &given); err != nil {
		return refuse("options: %v", err)
	}
	for name := range given {
		return refuse("option %s: there are no options", name)
	}
	return nil
}

// optioned serves a planner with the option k, which is in order where fits says so; strict refuses other options.
func optioned(fits func(k int) bool, strict bool) {
	sdk.Serve(&byHand{plan: openEvery, schema: kSchema, start: func(options []byte) error {
		var given struct{ K *int }
		d := json.NewDecoder(bytes.NewReader(options))
		if strict {
			d.DisallowUnknownFields()
		}
		if err := d.Decode(&given); err != nil {
			return refuse("option k or another: %v", err)
		}
		if given.K != nil && !fits(*given.K) {
			return refuse("option k: %d is out of range", *given.K)
		}
		return nil
	}})
}
