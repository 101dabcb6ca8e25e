// Package onnx runs denoisers with ONNX Runtime, on the CPU, CUDA and other providers. It appends a statistics head to the model's graph in
// memory, so that logits stay inside the runtime and only what planners asked for comes out (DESIGN, section 3).
//
// Open reads the model, Configure builds head and session, then Batch, fill, Run, again and again:
//
//	d, err := onnx.Open(ctx, onnx.Model{Name: "mine", Path: "model.onnx", MaskID: 4, V: 300}, onnx.Options{})
//	defer d.Close()
//	err = d.Configure(ctx, sampling.Head{Needs: sampling.Needs{Proposal: true, P1: true}, Suppress: []int32{4}})
//	batch, err := d.Batch(2, 16) // fill batch.Tokens and the rest
//	statistics, err := d.Run(ctx)
package onnx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/sampling"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// Model is a denoiser's ONNX file.
type Model = forward.Model

// Head modes.
const (
	HeadFused = forward.HeadFused // a C kernel inside the session: CPU
	HeadGraph = forward.HeadGraph // stock ONNX operators: every provider
	HeadGo    = forward.HeadGo    // logits come out and sampling.Compute does the rest
)

// Kernels of programs: how they run the operators of domain mdm that a model defines as functions (GeluGrad, LayerNormGrad,
// RMSNormGrad, SoftmaxGrad, Silu, SiluGrad, SwiGLU, SwiGLUGrad, CrossEntropy, CrossEntropyGrad, AdamW).
const (
	KernelsFused    = "fused"    // C kernels take their place: CPU
	KernelsStandard = "standard" // the functions are inlined: every provider
)

// Options choose how a model runs. The zero value is the CPU with ONNX Runtime's defaults, but for threads that wait: they spin for 50 µs, then sleep.
type Options struct {
	Library     string   // path of libonnxruntime; "" searches (see [FindLibrary])
	LibraryDirs []string // folders with the nvidia libraries; "" entries are ignored
	Provider    string   // one of Providers: "cpu" (default), "cuda" and so on, or "auto": cuda if it can be had, else cpu with a note
	Device      int      // number of the provider's device, from 0
	Threads     int      // threads inside one operator; 0 = one per core
	Head        string   // HeadFused, HeadGraph, HeadGo; "" = fused on the CPU, graph elsewhere
	Kernels     string   // of programs: KernelsFused, KernelsStandard; "" = fused on the CPU, standard elsewhere
	Optimize    string   // "all" (default), "extended", "basic", "off"
	NoArena     bool     // give memory back to the system after each pass
	NoPattern   bool     // do not plan memory ahead: less of it, a little slower
	Warmup      bool     // run one pass in Configure, so that the first real one is not slower

	// Profile is the start of the path of a JSON file that ONNX Runtime writes when a session is closed: the time of every
	// operator of every run. "" writes none; runs take a little longer with one.
	Profile string

	// CUDAGraph records every size of batch as a CUDA graph at its first pass, and replays it: the time between operators is saved, for
	// some memory. Of provider cuda.
	CUDAGraph bool

	ProviderLibrary string            // of provider "plugin": the file, which exports CreateEpFactories
	ProviderOptions map[string]string // of the provider, by ONNX Runtime's names; unknown ones are refused where all are known
	SessionConfig   map[string]string // ONNX Runtime's own dotted keys

	// LogitsMemory gives the memory for Statistics.Logits: at least so many bytes, which stay valid until the next call or Close.
	// nil keeps them in the runtime's own memory.
	LogitsMemory func(bytes int) ([]float32, error)
}

// Denoiser is an opened model; it implements [sampling.Denoiser].
type Denoiser struct {
	engine
	carrier // between the host and where the session computes
	model   Model
	ports   *forward.Ports
	caps    sampling.Capabilities

	closed  atomic.Bool
	running atomic.Pointer[ort.RunOptions] // of the pass in progress, for those who end it

	mu      sync.Mutex   // held by Configure, Batch, Run and the end of Close
	file    []byte       // the model; nil after Configure
	decoded *graph.Model // likewise
	plan    *forward.Plan
	shared  *shared                     // owns the session
	beside  bool                        // others run it, too
	session *ort.DynamicAdvancedSession // nil before Configure
	worker  *capi.Worker                // runs the session
	run     *ort.RunOptions

	lift, lower conveyor // to and from the device, of a session that replays CUDA graphs
	graphs      int      // that were numbered
	lost        error    // the device was lost
}

var _ sampling.Denoiser = (*Denoiser)(nil)

// Open loads the library (once a process), reads and checks the model, and chooses the provider. Errors name what is missing
// and what to run.
func Open(ctx context.Context, m Model, o Options) (_ *Denoiser, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d := &Denoiser{model: m, engine: engine{options: o}}
	if d.file, err = d.model.Read(); err != nil {
		return nil, err
	}
	if d.decoded, err = graph.Decode(d.file); err != nil {
		return nil, d.model.Wrap(err)
	}
	if d.ports, err = forward.FindPorts(d.decoded, &d.model); err != nil {
		return nil, d.model.Wrap(err)
	}
	if d.library, err = load(o.Library, o.Provider); err != nil {
		return nil, err
	}
	dir := ""
	if d.ports.External {
		dir = d.model.Dir
	}
	setup, err := d.chooseProvider(dir)
	if err != nil {
		return nil, err
	}
	d.shared = &shared{users: 1, setup: setup}
	if d.options.Head == "" {
		d.options.Head = HeadFused
		if d.provider != cpu {
			d.options.Head = HeadGraph
		}
	}
	d.caps = d.ports.Capabilities(&d.model)
	d.caps.State, d.caps.Runtime, d.caps.Provider = true, "onnx", d.provider
	if err := d.checkHead(); err != nil {
		_ = d.shared.leave()
		return nil, err
	}
	return d, nil
}

// checkHead refuses combinations that cannot work before anything is built.
func (d *Denoiser) checkHead() error {
	switch d.options.Head {
	case HeadFused:
		if d.caps.Provider != cpu {
			return fmt.Errorf("runtime: head %q runs on the CPU and the provider is %s; use head %q", HeadFused, d.caps.Provider, HeadGraph)
		}
	case HeadGraph:
		if v := d.decoded.Opset(""); v < forward.HeadOpset {
			return fmt.Errorf("model %s: head %q needs opset %d or newer, the model has %d; export it anew, or use head %q or %q", d.model.Name, HeadGraph, forward.HeadOpset, v, HeadFused, HeadGo)
		}
	case HeadGo:
	default:
		return fmt.Errorf("runtime: head %q is unknown; use %q, %q or %q", d.options.Head, HeadFused, HeadGraph, HeadGo)
	}
	return nil
}

// Capabilities implements [sampling.Denoiser].
func (d *Denoiser) Capabilities() sampling.Capabilities { return d.caps }

// Notes are what a user should know of the choice of provider, such as why auto fell back to the CPU.
func (d *Denoiser) Notes() []string { return d.notes }

// Version is that of the ONNX Runtime library in use.
func (d *Denoiser) Version() string { return d.library.Version }

// Close ends a run in progress and frees session and buffers, so that batches and statistics handed out before must not be
// touched any more. It may be called more than once and from any goroutine.
func (d *Denoiser) Close() error {
	if !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	if run := d.running.Load(); run != nil {
		_ = run.Terminate()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.plan != nil {
		d.plan.Free()
	}
	var errs []error
	if d.session != nil {
		d.worker.Close()
		errs = append(errs, d.run.Destroy())
		d.session, d.run = nil, nil
	}
	errs = append(errs, d.shared.leave(), d.lift.close(), d.lower.close(), d.carrier.close())
	d.file, d.decoded = nil, nil
	return errors.Join(errs...)
}
