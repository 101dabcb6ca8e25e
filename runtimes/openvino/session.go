package openvino

import (
	"context"
	"fmt"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
	"github.com/mdmhost/mdmhost/runtimes/openvino/internal/capi"
)

// Configure implements [sampling.Denoiser]: it appends the head to the model and compiles both for the device.
func (d *Denoiser) Configure(ctx context.Context, spec sampling.Head) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed.Load():
		return d.errClosed()
	case d.plan != nil:
		return fmt.Errorf("model %s: Configure was called before; open the model again for another head", d.model.Name)
	}
	plan, appended, err := forward.NewPlan(d.decoded, &d.model, d.ports, spec, forward.Options{
		Runtime: fmt.Sprintf("openvino (provider %s)", d.device.provider), Mode: d.options.Head, LogitsMemory: d.options.LogitsMemory, Bind: d.tensors})
	if err != nil {
		return err
	}
	d.plan, d.appended = plan, appended
	if err := d.compile(ctx); err != nil {
		d.plan = nil
		return err
	}
	d.caps.MaxRows = plan.MaxRows()
	if d.options.Warmup {
		return d.warmUp(ctx)
	}
	return ctx.Err()
}

// compile makes the session.
func (d *Denoiser) compile(ctx context.Context) error {
	source, values, done, err := d.source()
	if err != nil {
		return err
	}
	defer done()
	if err := ctx.Err(); err != nil {
		return err
	}
	session, err := d.library.NewSession(source, d.device.name, d.device.properties, values)
	if err != nil {
		advice := "use runtime onnx, or export the model anew"
		if len(d.options.Properties) > 0 {
			advice = "correct runtime.provider_options, if they are what it means; else " + advice
		}
		return fmt.Errorf("model %s: OpenVINO %s refuses it (provider %s, head %s): %w; %s",
			d.model.Name, release(d.library.Version), d.device.provider, d.options.Head, err, advice)
	}
	d.session, d.bound, d.torn = session, nil, false
	return nil
}

// mend makes the session anew after a pass that did not come to its end: of models with dynamic shapes OpenVINO (2026.4) keeps some of that
// pass's, and the next pass fails or is wrong, with another request, too.
func (d *Denoiser) mend(ctx context.Context) error {
	if !d.torn {
		return nil
	}
	if d.session != nil {
		d.session.Close()
		d.session = nil
	}
	return d.compile(ctx)
}

// warmUp runs one short pass, so that kernels are made and memory is there before the first real one.
func (d *Denoiser) warmUp(ctx context.Context) error {
	if _, err := d.plan.WarmUp(); err != nil {
		return err
	}
	_, err := d.runBatch(ctx)
	d.plan.Free()
	d.bound = nil
	return err
}

// types are OpenVINO's names of types.
var types = map[graph.Type]int{graph.Float32: capi.Float32, graph.Float64: capi.Float64, graph.Int32: capi.Int32, graph.Int64: capi.Int64, graph.Uint8: capi.Uint8}

// tensors lays OpenVINO's tensors over those of a pass.
func (d *Denoiser) tensors(p *forward.Pass) (free func(), err error) {
	var made []capi.Tensor
	free = func() {
		for _, t := range made {
			t.Free()
		}
		if d.bound == p {
			d.bound = nil
		}
	}
	for _, t := range append(p.In[:len(p.In):len(p.In)], p.Out...) {
		tensor, err := d.library.NewTensor(types[t.Type], t.Dims, t.Data)
		if err != nil {
			return free, err
		}
		made = append(made, tensor)
	}
	p.Values = made
	return free, nil
}

// names are those of a pass's tensors.
func (d *Denoiser) names() []string {
	return append(d.plan.Inputs[:len(d.plan.Inputs):len(d.plan.Inputs)], d.plan.Outputs...)
}

// bind gives the session the tensors of a pass.
func (d *Denoiser) bind(p *forward.Pass) error {
	if d.bound == p {
		return nil
	}
	d.bound = nil
	made := p.Values.([]capi.Tensor)
	for i, name := range d.names() {
		if err := d.session.Set(name, made[i]); err != nil {
			return err
		}
	}
	d.bound = p
	return nil
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed.Load():
		return nil, d.errClosed()
	case d.plan == nil:
		return nil, fmt.Errorf("model %s: Batch before Configure", d.model.Name)
	}
	pass, err := d.plan.Pass(b, l)
	if err != nil {
		return nil, err
	}
	return &pass.Batch, nil
}

// Run implements [sampling.Denoiser].
func (d *Denoiser) Run(ctx context.Context) (*sampling.Statistics, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runBatch(ctx)
}

func (d *Denoiser) runBatch(ctx context.Context) (*sampling.Statistics, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.closed.Load() || d.plan == nil || d.plan.Current() == nil {
		if d.closed.Load() {
			return nil, d.errClosed()
		}
		return nil, fmt.Errorf("model %s: Run before Batch", d.model.Name)
	}
	pass := d.plan.Current()
	if err := pass.Feed(); err != nil {
		return nil, err
	}
	if err := d.mend(ctx); err != nil {
		return nil, err
	}
	err := d.bind(pass)
	if err == nil {
		err = d.runSession(ctx)
		d.torn = err != nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.closed.Load():
		return nil, d.errClosed()
	case err != nil:
		return nil, pass.Failed(err)
	}
	return pass.Fetch()
}

// runSession runs the session and ends it early when ctx ends or Close is called.
func (d *Denoiser) runSession(ctx context.Context) error {
	if err := d.session.Start(); err != nil {
		return err
	}
	d.running.Store(true)
	defer d.running.Store(false)
	if d.closed.Load() { // a Close that came before the line above saw nothing to end
		d.session.Cancel()
	}
	if ctx.Done() == nil {
		return d.session.Wait()
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		d.session.Cancel()
		close(ended)
	})
	err := d.session.Wait()
	if !stop() { // it may still be at the session
		<-ended
	}
	return err
}
