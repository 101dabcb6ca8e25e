// Package openvino runs denoisers with OpenVINO, on Intel's and other processors, through OpenVINO's own C library. The model is the
// ONNX file that package onnx runs, with the same stem and the same statistics.
//
// Open reads the model, Configure compiles it with its head, then Batch, fill, Run, again and again:
//
//	d, err := openvino.Open(ctx, openvino.Model{Name: "mine", Path: "model.onnx", MaskID: 4, V: 300}, openvino.Options{})
//	defer d.Close()
//	err = d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}, Suppress: []int32{4}})
//	batch, err := d.Batch(2, 16) // fill batch.Tokens and the rest
//	statistics, err := d.Run(ctx)
package openvino

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
	"github.com/mdmhost/mdmhost/runtimes/openvino/internal/capi"
)

// Model is a denoiser's ONNX file.
type Model = forward.Model

// Head modes.
const (
	HeadGo = forward.HeadGo // logits come out and sampling.Compute does the rest

	// HeadGraph computes the statistics on the device, with stock ONNX operators. OpenVINO runs those of float64 in float32, so that draws
	// differ where the noise comes near a boundary, and proposes a token where all are suppressed.
	HeadGraph = forward.HeadGraph
)

// Options choose how a model runs. The zero value is the CPU with a thread per core, in float32.
type Options struct {
	Library    string            // path of libopenvino_c, or its folder; "" searches (see [FindLibrary])
	Provider   string            // the device: "cpu" (default), "gpu", "npu", or "auto": gpu if there is one, else cpu with a note
	Threads    int               // of the CPU; 0 = one per core
	Head       string            // HeadGo (default) or HeadGraph
	Properties map[string]string // of the device, by OpenVINO's names such as INFERENCE_PRECISION_HINT
	Warmup     bool              // run one pass in Configure, so that the first real one is not slower

	// LogitsMemory gives the memory for Statistics.Logits: at least so many bytes, which stay valid until the next call or Close.
	// nil keeps them in the runtime's own memory.
	LogitsMemory func(bytes int) ([]float32, error)
}

// Denoiser is an opened model; it implements [sampling.Denoiser].
type Denoiser struct {
	model   Model
	options Options
	library *capi.Library
	device  device
	caps    sampling.Capabilities
	notes   []string

	closed  atomic.Bool
	running atomic.Bool // a run is on its way, for those who end it

	mu       sync.Mutex // held by Configure, Batch, Run and the end of Close
	decoded  *graph.Model
	ports    *forward.Ports
	plan     *forward.Plan // nil before Configure
	appended []byte        // by the plan
	session  *capi.Session
	bound    *forward.Pass // whose tensors the session has
	torn     bool          // the last pass did not come to its end
}

var _ sampling.Denoiser = (*Denoiser)(nil)

// Open loads the library (once a process), reads and checks the model, and chooses the device. Errors name what is missing and what
// to run.
func Open(ctx context.Context, m Model, o Options) (*Denoiser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &Denoiser{model: m, options: o}
	file, err := d.model.Read()
	if err != nil {
		return nil, err
	}
	if d.decoded, err = graph.Decode(file); err != nil {
		return nil, d.model.Wrap(err)
	}
	if d.ports, err = forward.FindPorts(d.decoded, &d.model); err != nil {
		return nil, d.model.Wrap(err)
	}
	if d.library, err = load(o.Library); err != nil {
		return nil, err
	}
	if err := d.chooseDevice(); err != nil {
		return nil, err
	}
	if d.options.Head == "" {
		d.options.Head = HeadGo
	}
	if err := d.checkHead(); err != nil {
		return nil, err
	}
	d.caps = d.ports.Capabilities(&d.model)
	d.caps.State, d.caps.Runtime, d.caps.Provider = true, "openvino", d.device.provider
	return d, nil
}

func (d *Denoiser) checkHead() error {
	switch d.options.Head {
	case HeadGraph:
		if v := d.decoded.Opset(""); v < forward.HeadOpset {
			return fmt.Errorf("model %s: head %q needs opset %d or newer, the model has %d; export it anew, or use head %q", d.model.Name, HeadGraph, forward.HeadOpset, v, HeadGo)
		}
	case HeadGo:
	default:
		return fmt.Errorf("runtime: head %q is none of runtime openvino; use %q or %q", d.options.Head, HeadGo, HeadGraph)
	}
	return nil
}

// Capabilities implements [sampling.Denoiser].
func (d *Denoiser) Capabilities() sampling.Capabilities { return d.caps }

// Notes are what a user should know of the choice of device, such as why auto runs on the CPU.
func (d *Denoiser) Notes() []string { return d.notes }

// Version is that of the OpenVINO library in use.
func (d *Denoiser) Version() string { return d.library.Version }

// Close ends a run in progress and frees session and buffers, so that batches and statistics handed out before must not be
// touched any more. It may be called more than once and from any goroutine.
func (d *Denoiser) Close() error {
	if !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	if d.running.Load() {
		d.session.Cancel()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session != nil {
		d.session.Close()
		d.session = nil
	}
	if d.plan != nil {
		d.plan.Free()
	}
	d.decoded, d.appended = nil, nil
	return nil
}

func (d *Denoiser) errClosed() error { return fmt.Errorf("model %s: it was closed", d.model.Name) }
