package main

import "testing"

// What a plugin says of itself cannot steer the terminal.
func TestPrintable(t *testing.T) {
	if got, want := printable("γ ok\x1b[31m\r\n\t\u202e'"), `γ ok\x1b[31m\r\n\t\u202e'`; got != want {
		t.Errorf("expected %s, found %s", want, got)
	}
}
