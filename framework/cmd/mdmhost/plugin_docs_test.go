package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/planners"
	"github.com/mdmhost/mdmhost/plugins/reference"
)

// The committed reference is what the command writes.
func TestReferenceIsFresh(t *testing.T) {
	all, err := firstParty(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []reference.Plugin
	for _, p := range all {
		list = append(list, p.reference(""))
	}
	var want bytes.Buffer
	if err := reference.Write(&want, list); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(repository(t), "docs/plugins/reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/plugins/reference.md is not what `mdmhost plugin docs` writes; run ./dev generate and commit the result (-command +file):\n%s", diff)
	}
}

// The planners take the options that their examples set.
func TestExamplesOfTheReferenceAreTaken(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository(t), "docs/plugins/reference.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^mdmhost sample --planner (\w+) --set planner\.(\w+)=(\S+)$`).FindAllSubmatch(text, -1)
	for _, e := range examples {
		value := json.RawMessage(e[3])
		if !json.Valid(value) {
			value, _ = json.Marshal(string(e[3]))
		}
		options, err := json.Marshal(map[string]json.RawMessage{string(e[2]): value})
		if err != nil {
			t.Fatal(err)
		}
		run := sampling.Run{ID: "docs", Options: options, MaskID: 9, V: 9, Exponents: make([]float32, 9)}
		if _, err := planners.All()[string(e[1])]().Start(t.Context(), run); err != nil {
			t.Errorf("%s: %v", e[0], err)
		}
	}
	if len(examples) < 15 {
		t.Errorf("%d examples of planners, expected one for nearly every planner", len(examples))
	}
}
