package main

import (
	"testing"

	"github.com/hashicorp/go-hclog"
)

// What a plugin says of itself cannot steer the terminal.
func TestPrintable(t *testing.T) {
	if got, want := printable("γ ok\x1b[31m\r\n\t\u202e'"), `γ ok\x1b[31m\r\n\t\u202e'`; got != want {
		t.Errorf("expected %s, found %s", want, got)
	}
}

// The words of go-plugin stay away from the screen, those of plugins do not.
func TestInternal(t *testing.T) {
	if !internal(hclog.Warn, "plugin failed to exit gracefully") || !internal(hclog.Error, "plugin process exited") {
		t.Error("go-plugin's own lines are shown")
	}
	if internal(hclog.Warn, "plugin died and is started again") || internal(hclog.Warn, "low entropy") {
		t.Error("a line of the host or a plugin is dropped")
	}
}
