package onnx

import (
	"context"
	"fmt"
	"math"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/sampling"
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
	if err := d.checkNeeds(&spec.Needs); err != nil {
		return err
	}
	stem, err := d.newStem(&spec)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h := newHead(spec, d.options.Head)
	fragment, logits := h.fragment(d.decoded, stem)
	if spec.Needs.Logits || h.mode == HeadGo {
		h.outputs = append(h.outputs, logits)
	}
	if stem.shadows {
		h.outputs = append(h.outputs, outAlone)
	}
	h.outputs = append(h.outputs, d.ports.askRates(fragment.Graph, &spec.Needs)...)
	if h.mode == HeadFused {
		if err := d.library.RegisterHead(raw(d.setup)); err != nil {
			return err
		}
	}
	inputs := make([]string, 0, len(d.ports.inputs)+len(h.inputs))
	for _, p := range d.ports.inputs {
		inputs = append(inputs, p.name)
	}
	inputs = append(inputs, h.inputs...)
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(append(d.file, fragment.Encode()...), inputs, h.outputs, d.setup)
	if err != nil {
		return fmt.Errorf("model %s: ONNX Runtime %s refuses it (provider %s, head %s): %w; check the file with onnx.checker, or export it anew",
			d.model.Name, d.library.Version, d.caps.Provider, h.mode, plain(err))
	}
	run, err := ort.NewRunOptions()
	if err != nil {
		_ = session.Destroy()
		return fmt.Errorf("ONNX Runtime: %w", err)
	}
	worker, err := d.library.NewWorker(rawSession(session), inputs, h.outputs)
	if err != nil {
		_ = run.Destroy()
		_ = session.Destroy()
		return err
	}
	d.head, d.stem, d.session, d.run, d.worker = h, stem, session, run, worker
	d.caps.MaxRows = stem.batchRows()
	_ = d.setup.Destroy()
	d.setup, d.file, d.decoded = nil, nil, nil
	if d.options.Warmup {
		return d.warmUp(ctx)
	}
	return nil
}

// warmUp runs one short pass, so that kernels are chosen and memory is there before the first real one.
func (d *Denoiser) warmUp(ctx context.Context) error {
	b, l := 1, 8
	if d.ports.length > 0 {
		l = d.ports.length
	}
	batch, err := d.batch(b, l)
	if err != nil {
		return err
	}
	for i := range batch.Tokens {
		batch.Tokens[i], batch.Attention[i], batch.Active[i] = int64(d.model.PadID), 1, 1
	}
	batch.Params[0].TopP = 1
	_, err = d.runBatch(ctx)
	d.shapes.free()
	return err
}

// Batch implements [sampling.Denoiser].
func (d *Denoiser) Batch(b, l int) (*sampling.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.batch(b, l)
}

func (d *Denoiser) batch(b, l int) (*sampling.Batch, error) {
	p := d.ports
	switch {
	case d.closed.Load():
		return nil, d.errClosed()
	case d.session == nil:
		return nil, fmt.Errorf("model %s: Batch before Configure", d.model.Name)
	case b < 1 || l < 1 || b > math.MaxInt32/l:
		return nil, fmt.Errorf("model %s: a batch of %d rows x %d positions; give at least 1 of each, and fewer than 2^31 together", d.model.Name, b, l)
	case p.rows > 0 && b > d.stem.batchRows():
		most, why := d.stem.batchRows(), ""
		if d.stem.passes() > 1 {
			why = ", which guidance takes two by two"
		}
		return nil, fmt.Errorf("model %s: a batch of %d rows, and the model was exported for %d%s; use --batch %d", d.model.Name, b, p.rows, why, most)
	case p.length > 0 && l > p.length:
		return nil, fmt.Errorf("model %s: a row of %d positions, and the model was exported for %d; shorten the row", d.model.Name, l, p.length)
	case p.length > 0 && l < p.length && !d.caps.Padding:
		return nil, fmt.Errorf("model %s: a row of %d positions, and the model takes exactly %d because it has no attention_mask; fill the row, or export the model anew with a mask", d.model.Name, l, p.length)
	}
	s, err := d.shapes.get(d, b, l)
	if err != nil {
		return nil, fmt.Errorf("model %s: a batch of %d rows x %d positions: %w", d.model.Name, b, l, err)
	}
	return &s.batch, nil
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
	s := d.shapes.current
	if d.session == nil || s == nil {
		if d.closed.Load() {
			return nil, d.errClosed()
		}
		return nil, fmt.Errorf("model %s: Run before Batch", d.model.Name)
	}
	if d.head.remembers() {
		if err := s.batch.CheckSlots(); err != nil {
			return nil, fmt.Errorf("model %s: %w", d.model.Name, err)
		}
	}
	for _, feed := range s.feeds {
		feed()
	}
	err := d.runSession(ctx, s)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case d.closed.Load():
		return nil, d.errClosed()
	case err != nil:
		return nil, fmt.Errorf("model %s: a pass of %d rows x %d positions failed: %w; compare token ids and lengths with config.json", d.model.Name, s.b, s.l, plain(err))
	}
	for _, fetch := range s.fetches {
		fetch()
	}
	if d.head.mode == HeadGo {
		if err := d.shapes.plain.Compute(s.logits, d.model.V, &s.batch, d.head.spec, &s.stats); err != nil {
			return nil, fmt.Errorf("model %s: %w", d.model.Name, err)
		}
	}
	return &s.stats, nil
}

// runSession runs the session and ends it early when ctx ends or Close is called.
func (d *Denoiser) runSession(ctx context.Context, s *shape) error {
	d.running.Store(d.run)
	defer d.running.Store(nil)
	if d.closed.Load() { // a Close that came before the line above saw nothing to end
		return d.errClosed()
	}
	if ctx.Done() == nil {
		return d.worker.Run(rawRun(d.run), s.in, s.out)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = d.run.Terminate()
		close(ended)
	})
	err := d.worker.Run(rawRun(d.run), s.in, s.out)
	if !stop() { // the flag is set, or about to be: take it back for the next run
		<-ended
		_ = d.run.UnsetTerminate()
	}
	return err
}

func (d *Denoiser) errClosed() error { return fmt.Errorf("model %s: it was closed", d.model.Name) }
