package nearest_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// Only names that are near are guessed.
func TestWord(t *testing.T) {
	for name, want := range map[string]string{
		"foo": "", "x": "", "lgo": "", "stps": "steps", "temprature": "sampling.temperature", "cdua": "", "planer.name": "planner.name",
	} {
		if got := nearest.Word(name, []string{"plugins.log", "steps", "sampling.temperature", "planner.name"}); got != want {
			t.Errorf("%s: expected %q, found %q", name, want, got)
		}
	}
	if got := nearest.Word("cdua", []string{"cpu", "cuda", "auto"}); got != "cuda" {
		t.Errorf("cdua: found %q", got)
	}
}
