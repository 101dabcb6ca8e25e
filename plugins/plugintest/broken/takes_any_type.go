package main

import (
	"encoding/json"

	"github.com/mdmhost/mdmhost/plugins/sdk"
)

// takesAnyType reads its option as anything, and takes what is no number for the default.
func takesAnyType() {
	sdk.Serve(&byHand{plan: openEvery, schema: kSchema, start: func(options []byte) error {
		var given map[string]any
		if err := json.Unmarshal(options, &given); err != nil {
			return refuse("options: %v", err)
		}
		for name, value := range given {
			if x, ok := value.(float64); name != "k" || ok && (x < 1 || x > 9) {
				return refuse("option %s: unknown, or not from 1 to 9", name)
			}
		}
		return nil
	}})
}
