package loflexmdm_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/loflexmdm"
)

// TestAgainstTheReference runs both graphs on fixed noise: contracted rows, losses, metrics, and gradients by differences.
func TestAgainstTheReference(t *testing.T) {
	try.Agree(t, "testdata/golden.json.gz", loflexmdm.New)
}
