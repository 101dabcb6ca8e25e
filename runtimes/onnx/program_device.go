package onnx

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	ort "github.com/yalue/onnxruntime_go"
)

// Device runs programs (any ONNX graphs) whose states stay inside the runtime between runs: on the CPU in memory outside the
// Go heap, on CUDA in the device's. Its methods, and those of its programs and states, may be called from any goroutine; they
// take turns.
//
//	device, err := onnx.OpenDevice(ctx, onnx.Options{Threads: 2})
//	defer device.Close() // closes what was made on it, too
//	params, err := device.NewState("params", graph.Float32, 1000)
//	err = params.WriteFloats(initial)
//	step, err := device.NewProgram(ctx, onnx.Model{Path: "step.onnx"}, onnx.ProgramOptions{
//		States:  []onnx.StateBinding{{Input: "params", Output: "new_params", State: params}},
//		Outputs: []string{"loss"},
//		Dims:    map[string]int64{"B": 64, "L": 81},
//	})
//	feed, err := step.NewFeed()
//	ids, err := feed.Int64("ids") // fill it, then
//	err = step.Run(ctx, feed)
//	loss, err := step.Output("loss")
type Device struct {
	engine
	carrier // between the host and the place of states

	closed atomic.Bool
	end    sync.Mutex      // held to set or use running
	active *ort.RunOptions // of the run in progress, for Close to end it

	mu   sync.Mutex // held by every call that touches the runtime
	open map[resource]struct{}
}

// resource is what a device closes with itself. free is called with the device locked, perhaps more than once.
type resource interface{ free() }

// OpenDevice loads the library (once a process) and chooses the provider. Head, Warmup and LogitsMemory of the options are
// not looked at, nor is CUDAGraph; NoPattern is always on, because memory patterns double the peak of training graphs and save no time.
func OpenDevice(ctx context.Context, o Options) (*Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.NoPattern, o.CUDAGraph = true, false
	d := &Device{engine: engine{options: o}, open: map[resource]struct{}{}}
	var err error
	if d.library, err = load(o.Library, o.Provider); err != nil {
		return nil, err
	}
	setup, err := d.chooseProvider("")
	if err != nil {
		return nil, err
	}
	defer func() { _ = setup.Destroy() }()
	if err := d.chooseKernels(); err != nil {
		return nil, err
	}
	if err := d.settle(&d.engine); err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// chooseKernels settles the kernels.
func (d *Device) chooseKernels() error {
	switch kernels := &d.options.Kernels; *kernels {
	case "":
		if *kernels = KernelsFused; d.provider != cpu {
			*kernels = KernelsStandard
		}
	case KernelsFused:
		if d.provider != cpu {
			return fmt.Errorf("runtime: kernels %q run on the CPU and the provider is %s; use kernels %q", KernelsFused, d.provider, KernelsStandard)
		}
	case KernelsStandard:
	default:
		return fmt.Errorf("runtime: kernels %q are unknown; use %q or %q", *kernels, KernelsFused, KernelsStandard)
	}
	return nil
}

// lock locks the device, unless it is closed. The kind and name of what it is locked for are for the message.
func (d *Device) lock(kind, name string) error {
	d.mu.Lock()
	if d.closed.Load() {
		d.mu.Unlock()
		return fmt.Errorf("%s %s: its device was closed", kind, name)
	}
	return nil
}

// release frees one resource, now or never again.
func (d *Device) release(r resource) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.free()
	delete(d.open, r)
}

// Provider is the provider that programs run on, such as "cpu" or "cuda".
func (d *Device) Provider() string { return d.provider }

// Notes are what a user should know of the choice of provider, such as why auto fell back to the CPU.
func (d *Device) Notes() []string { return d.notes }

// Version is that of the ONNX Runtime library in use.
func (d *Device) Version() string { return d.library.Version }

// Close ends a run in progress and closes all programs, feeds and states of the device. It may be called more than once and
// from any goroutine.
func (d *Device) Close() error {
	if !d.closed.CompareAndSwap(false, true) {
		return nil
	}
	d.end.Lock()
	if d.active != nil {
		_ = d.active.Terminate()
	}
	d.end.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for r := range d.open {
		r.free()
	}
	clear(d.open)
	return d.carrier.close()
}
