package papl_test

import (
	"testing"

	"github.com/mdmhost/mdmhost/plugins/trainers/internal/try"
	"github.com/mdmhost/mdmhost/plugins/trainers/papl"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

func device(t *testing.T) *onnx.Device {
	t.Helper()
	d, err := onnx.OpenDevice(t.Context(), onnx.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// TestAgainstTheReference runs both graphs of every form, the sheet's worked examples (4.9) among them.
func TestAgainstTheReference(t *testing.T) {
	d := device(t)
	for _, c := range try.Golden(t, "testdata/golden.json.gz") {
		t.Run(c.Name, func(t *testing.T) {
			reply := c.Build(t, papl.New())
			try.Compare(t, "training", c.Run(t, d, reply.Training), c.Training)
			try.Compare(t, "eval", c.Run(t, d, reply.Eval), c.Eval)
		})
	}
}
