package onnx

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// StateBinding ties a state to values of a graph. The program reads what Input names from the state, and writes what Output
// names to it; the two may be parts of two bindings. "" leaves a side out.
type StateBinding struct {
	Input, Output string
	State         *State
}

// ProgramOptions say what the inputs and outputs of a graph are. Inputs that no state is bound to are fed ([Feed]); outputs
// that are neither bound nor listed are not computed.
type ProgramOptions struct {
	States  []StateBinding
	Outputs []string         // float32 outputs that come back to the host: the loss, metrics
	Dims    map[string]int64 // values of symbolic dimensions; those of bound states are known without. Other names are ignored
}

// Program is an ONNX graph whose inputs and outputs are states, feeds and small results.
type Program struct {
	device  *Device
	model   Model
	session *ort.DynamicAdvancedSession
	worker  *capi.Worker
	run     *ort.RunOptions
	inputs  []slot
	outputs []slot
	written []*State         // once each
	in, out []unsafe.Pointer // OrtValues, in the order of the ports; those of states are set anew for each run
	results []buffer         // on the host, for the outputs without a state
	feeds   map[*Feed]struct{}
	closed  bool
}

// NewProgram reads and checks a model and makes its session. Errors name the value of the graph that does not fit, and what
// there is. Dir of the model is the folder of external data; MaskID, PadID and V are not looked at.
func (d *Device) NewProgram(ctx context.Context, m Model, o ProgramOptions) (_ *Program, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := m.Read()
	if err != nil {
		return nil, err
	}
	decoded, err := graph.Decode(file)
	if err != nil {
		return nil, m.Wrap(err)
	}
	if decoded.Graph == nil {
		return nil, m.Wrap(errors.New("the file holds no graph; it is no ONNX model, or it is damaged"))
	}
	external, err := m.CheckExternal(decoded)
	if err != nil {
		return nil, m.Wrap(err)
	}
	p := &Program{device: d, model: m, feeds: map[*Feed]struct{}{}}
	l := layout{device: d, graph: decoded.Graph, dims: map[string]int64{}, source: map[string]string{}}
	if err := l.resolve(o); err != nil {
		return nil, m.Wrap(err)
	}
	p.inputs, p.outputs, p.written = l.inputs, l.outputs, l.written
	p.model.Data = nil

	if err := d.lock("model", m.Name); err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	for _, b := range o.States {
		if b.State.closed {
			return nil, m.Wrap(b.State.errClosed())
		}
	}
	dir := ""
	if external {
		dir = m.Dir
	}
	if err := p.build(file, dir, l.dims); err != nil {
		p.free()
		return nil, err
	}
	d.open[p] = struct{}{}
	return p, nil
}

// build makes the session and the memory of the results.
func (p *Program) build(file []byte, dir string, dims map[string]int64) error {
	d := p.device
	setup, err := d.programOptions(dir, dims)
	if err != nil {
		return err
	}
	defer func() { _ = setup.Destroy() }()
	var inputs, outputs []string
	for _, at := range p.inputs {
		inputs = append(inputs, at.name)
	}
	for _, at := range p.outputs {
		outputs = append(outputs, at.name)
	}
	if p.session, err = ort.NewDynamicAdvancedSessionWithONNXData(file, inputs, outputs, setup); err != nil {
		return fmt.Errorf("model %s: ONNX Runtime %s refuses it (provider %s): %w; check the file with onnx.checker, or make it anew",
			p.model.Name, d.library.Version, d.provider, plain(err))
	}
	if p.run, err = ort.NewRunOptions(); err != nil {
		return fmt.Errorf("ONNX Runtime: %w", err)
	}
	if p.worker, err = d.library.NewWorker(rawSession(p.session), inputs, outputs); err != nil {
		return err
	}
	p.in, p.out = make([]unsafe.Pointer, len(inputs)), make([]unsafe.Pointer, len(outputs))
	p.results = make([]buffer, len(outputs))
	for i, at := range p.outputs {
		if at.state != nil {
			continue
		}
		if p.results[i], err = newBuffer(d.host, at.typ, at.dims); err != nil {
			return p.model.Wrap(fmt.Errorf("output %s: %w", at, plain(err)))
		}
		p.out[i] = p.results[i].value
	}
	return nil
}

// programOptions are the session options of a program.
func (d *Device) programOptions(dir string, dims map[string]int64) (*ort.SessionOptions, error) {
	setup, err := d.sessionOptions(dir)
	if err != nil {
		return nil, err
	}
	if d.kind != nil {
		err = d.append(setup, d.kind)
	}
	if err == nil && d.options.Kernels == KernelsFused {
		err = d.library.RegisterKernels(raw(setup))
	}
	for name, n := range dims {
		if err == nil {
			err = d.library.FixDimension(raw(setup), name, n)
		}
	}
	if err != nil {
		_ = setup.Destroy()
		return nil, fmt.Errorf("runtime: session options: %w", err)
	}
	return setup, nil
}

// Output returns the elements of an output that comes back to the host. They are valid until the next Run or Close.
func (p *Program) Output(name string) ([]float32, error) {
	if err := p.lock(); err != nil {
		return nil, err
	}
	defer p.device.mu.Unlock()
	var known []string
	for i, at := range p.outputs {
		if at.state != nil {
			continue
		}
		if known = append(known, at.name); at.name == name {
			return elements[float32](p.results[i], at), nil
		}
	}
	return nil, p.model.Wrap(fmt.Errorf("output %q is none of those that come back: %s", name, nearest(name, known)))
}

// lock locks the device, unless the program is closed.
func (p *Program) lock() error {
	if err := p.device.lock("model", p.model.Name); err != nil {
		return err
	}
	if p.closed {
		p.device.mu.Unlock()
		return p.errClosed()
	}
	return nil
}

func (p *Program) errClosed() error { return fmt.Errorf("model %s: it was closed", p.model.Name) }

// Close frees the session and the feeds; slices of feeds and outputs must not be touched any more. It waits for a run in
// progress and may be called more than once.
func (p *Program) Close() error {
	p.device.release(p)
	return nil
}

func (p *Program) free() {
	p.closed = true
	for f := range p.feeds {
		f.free()
	}
	for i := range p.results {
		p.results[i].free(p.device.library, p.device.host)
	}
	if p.worker != nil {
		p.worker.Close()
		p.worker = nil
	}
	if p.run != nil {
		_ = p.run.Destroy()
		p.run = nil
	}
	if p.session != nil {
		_ = p.session.Destroy()
		p.session = nil
	}
}
