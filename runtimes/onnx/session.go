package onnx

import (
	"context"
	"errors"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
)

// Configure implements [sampling.Denoiser]: it appends the head to the model and makes the session.
func (d *Denoiser) Configure(ctx context.Context, spec sampling.Head) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed.Load():
		return d.errClosed()
	case d.session != nil:
		return fmt.Errorf("model %s: Configure was called before; open the model again for another head", d.model.Name)
	}
	if d.lib == nil {
		if err := d.settle(&d.engine); err != nil {
			return err
		}
	}
	o := forward.Options{Runtime: fmt.Sprintf("onnx (provider %s)", d.caps.Provider), Mode: d.options.Head, LogitsMemory: d.options.LogitsMemory, Bind: d.bind, Turns: true}
	if d.carrier.session != nil {
		o.Place = residence{&d.carrier}
	}
	if d.pinned != nil {
		o.Host = d.pinned
	}
	plan, appended, err := forward.NewPlan(d.decoded, &d.model, d.ports, spec, o)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.beside && spec.Remembers() {
		return fmt.Errorf("model %s: this head keeps something of every row between passes, and several denoisers share the session; open the model alone", d.model.Name)
	}
	session, err := d.shared.open(d, plan.Inputs, plan.Outputs, appended)
	if err != nil {
		return err
	}
	run, err := ort.NewRunOptions()
	if err != nil {
		return fmt.Errorf("ONNX Runtime: %w", err)
	}
	worker, err := d.library.NewWorker(rawSession(session), plan.Inputs, plan.Outputs)
	if err != nil {
		_ = run.Destroy()
		return err
	}
	d.plan, d.session, d.run, d.worker = plan, session, run, worker
	if err := d.placed(); err != nil {
		return err
	}
	d.caps.MaxRows = plan.MaxRows()
	d.file, d.decoded = nil, nil
	if d.options.Warmup {
		return d.warmUp(ctx)
	}
	return nil
}

// warmUp runs one short pass, so that kernels are chosen and memory is there before the first real one.
func (d *Denoiser) warmUp(ctx context.Context) error {
	if _, err := d.plan.WarmUp(); err != nil {
		return err
	}
	_, err := d.runBatch(ctx)
	d.plan.Free()
	return err
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed.Load():
		return nil, d.errClosed()
	case d.session == nil:
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
	if d.session == nil || d.plan.Current() == nil {
		if d.closed.Load() {
			return nil, d.errClosed()
		}
		return nil, fmt.Errorf("model %s: Run before Batch", d.model.Name)
	}
	if d.lost != nil {
		return nil, d.lost
	}
	pass := d.plan.Current()
	if err := pass.Feed(); err != nil {
		d.lose(err)
		return nil, err
	}
	err := d.runPass(ctx, pass)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.closed.Load():
		return nil, d.errClosed()
	case err != nil:
		err = fmt.Errorf("model %s: a pass of %d rows x %d positions failed: %w", d.model.Name, pass.Batch.B, pass.Batch.L,
			d.failed(err, "compare token ids and lengths with config.json"))
		d.lose(err)
		return nil, err
	}
	s, err := pass.Fetch()
	d.lose(err)
	return s, err
}

// lose remembers that the device was lost, if it was.
func (d *Denoiser) lose(err error) {
	if errors.Is(err, ErrDeviceLost) {
		d.lost = err
	}
}

// runPass brings to the device what the session does not fetch itself, runs it, and brings back what it does not bring.
func (d *Denoiser) runPass(ctx context.Context, pass *forward.Pass) error {
	b := pass.Values.(*bound)
	for _, c := range b.copies {
		if c.version == *c.Version {
			continue
		}
		if err := d.carry(d.host, c.Data, d.place, c.to, c.Count*sizes[c.Type]); err != nil {
			return err
		}
		c.version = *c.Version
	}
	if err := d.convey(b); err != nil {
		return err
	}
	if err := d.lift.run(b.up); err != nil {
		return err
	}
	if err := d.runSession(ctx, b, pass.Turn); err != nil {
		return err
	}
	return d.lower.run(b.down)
}

// convey makes the conveyors that a pass needs, which are the same for all passes.
func (d *Denoiser) convey(b *bound) (err error) {
	if d.lift.session == nil && len(b.up.from) > 0 {
		if d.lift, err = newConveyor(&d.engine, len(b.up.from)); err != nil {
			return err
		}
	}
	if d.lower.session == nil && len(b.down.from) > 0 {
		d.lower, err = newConveyor(&d.engine, len(b.down.from))
	}
	return err
}

// runSession runs the session and ends it early when ctx ends or Close is called.
func (d *Denoiser) runSession(ctx context.Context, b *bound, turn int) error {
	run := d.run
	if b.run[turn] != nil {
		run = b.run[turn]
	}
	d.running.Store(run)
	defer d.running.Store(nil)
	if d.closed.Load() { // a Close that came before the line above saw nothing to end
		return d.errClosed()
	}
	if ctx.Done() == nil {
		return d.worker.Run(rawRun(run), b.in[turn], b.out[turn])
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = run.Terminate()
		close(ended)
	})
	err := d.worker.Run(rawRun(run), b.in[turn], b.out[turn])
	if !stop() { // the flag is set, or about to be: take it back for the next run
		<-ended
		_ = run.UnsetTerminate()
	}
	return err
}

func (d *Denoiser) errClosed() error { return fmt.Errorf("model %s: it was closed", d.model.Name) }
