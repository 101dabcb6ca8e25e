package onnx

import (
	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// conveyor carries all that crosses in a pass at once, in one direction.
type conveyor struct {
	session *ort.DynamicAdvancedSession
	worker  *capi.Worker
}

// newConveyor makes a conveyor for n tensors.
func newConveyor(e *engine, n int) (c conveyor, err error) {
	setup, err := e.carrierOptions()
	if err != nil {
		return c, err
	}
	defer func() { _ = setup.Destroy() }()
	if c.session, err = identities(setup, n); err != nil {
		return conveyor{}, err
	}
	in, out := carried(n)
	if c.worker, err = e.library.NewWorker(rawSession(c.session), in, out); err != nil {
		_ = c.session.Destroy()
		return conveyor{}, err
	}
	return c, nil
}

func (c *conveyor) run(f freight) error {
	if len(f.from) == 0 {
		return nil
	}
	return c.worker.Run(nil, f.from, f.to)
}

func (c *conveyor) close() error {
	if c.session == nil {
		return nil
	}
	c.worker.Close()
	err := c.session.Destroy()
	*c = conveyor{}
	return err
}
