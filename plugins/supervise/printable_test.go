package supervise_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/plugins/supervise"
)

// What a plugin says of itself cannot steer the terminal.
func TestPrintable(t *testing.T) {
	if got, want := supervise.Printable("γ ok\x1b[31m\r\n\t\u202e'"), `γ ok\x1b[31m\r\n\t\u202e'`; got != want {
		t.Errorf("expected %s, found %s", want, got)
	}
}
