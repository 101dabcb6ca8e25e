package onnx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
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
	host    *capi.Place
	place   *capi.Place                 // of states; the host on the CPU
	carrier *ort.DynamicAdvancedSession // copies bytes between the two, or nil where they are one

	closed atomic.Bool
	end    sync.Mutex      // held to set or use running
	active *ort.RunOptions // of the run in progress, for Close to end it

	mu   sync.Mutex // held by every call that touches the runtime
	open map[resource]struct{}
}

// resource is what a device closes with itself. free is called with the device locked, perhaps more than once.
type resource interface{ free() }

// OpenDevice loads the library (once a process) and chooses the provider. Head, Warmup and LogitsMemory of the options are
// not looked at; NoPattern is always on, because memory patterns double the peak of training graphs and save no time.
func OpenDevice(ctx context.Context, o Options) (*Device, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.NoPattern = true
	d := &Device{engine: engine{options: o}, open: map[resource]struct{}{}}
	var err error
	if d.library, err = load(o.Library); err != nil {
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
	if d.host, err = d.library.Host(); err != nil {
		return nil, err
	}
	d.place = d.host
	if d.provider == "cuda" {
		err = d.lodge(setup, "Cuda", o.Device)
	}
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// chooseKernels settles the kernels.
func (d *Device) chooseKernels() error {
	switch kernels := &d.options.Kernels; *kernels {
	case "":
		if *kernels = KernelsFused; d.provider != "cpu" {
			*kernels = KernelsStandard
		}
	case KernelsFused:
		if d.provider != "cpu" {
			return fmt.Errorf("runtime: kernels %q run on the CPU and the provider is %s; use kernels %q", KernelsFused, d.provider, KernelsStandard)
		}
	case KernelsStandard:
	default:
		return fmt.Errorf("runtime: kernels %q are unknown; use %q or %q", *kernels, KernelsFused, KernelsStandard)
	}
	return nil
}

// lodge makes the states live where a session of these options allocates memory of that name. The session copies, too, by
// running Identity from an input on one side to an output on the other: the runtime alone knows how its providers copy.
func (d *Device) lodge(setup *ort.SessionOptions, memory string, id int) (err error) {
	m := graph.Model{IRVersion: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{Name: "carrier",
		Nodes:   []*graph.Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"y"}}},
		Inputs:  []*graph.ValueInfo{{Name: "x", Type: graph.Uint8, HasRank: true, Shape: []graph.Dim{graph.Named("n")}}},
		Outputs: []*graph.ValueInfo{{Name: "y", Type: graph.Uint8, HasRank: true, Shape: []graph.Dim{graph.Named("n")}}},
	}}
	if d.carrier, err = ort.NewDynamicAdvancedSessionWithONNXData(m.Encode(), []string{"x"}, []string{"y"}, setup); err != nil {
		return fmt.Errorf("provider %s: no session can be made: %w; run `mdmhost runtime check`", d.provider, plain(err))
	}
	place, err := d.library.Device(rawSession(d.carrier), memory, id)
	if err != nil {
		return fmt.Errorf("provider %s: memory on device %d: %w; run `mdmhost runtime check`", d.provider, id, plain(err))
	}
	d.place = place
	return nil
}

// carried bytes at a time, so that the runtime's own copy on the way stays small.
const carried = 32 << 20

// carry copies n bytes between the host and the place of states, in either direction.
func (d *Device) carry(from *capi.Place, src unsafe.Pointer, to *capi.Place, dst unsafe.Pointer, n int) error {
	if d.carrier == nil {
		copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
		return nil
	}
	for at := 0; at < n; at += carried {
		part := min(n-at, carried)
		x, err := from.Tensor(unsafe.Add(src, at), part, int32(graph.Uint8), int64(part))
		if err != nil {
			return err
		}
		y, err := to.Tensor(unsafe.Add(dst, at), part, int32(graph.Uint8), int64(part))
		if err == nil {
			err = d.library.RunOne(rawSession(d.carrier), x, y)
		}
		d.library.ReleaseValue(x)
		d.library.ReleaseValue(y)
		if err != nil {
			return err
		}
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

// Provider is the provider that programs run on: "cpu" or "cuda".
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
	var errs []error
	if d.place != d.host {
		d.place.Close()
	}
	d.host.Close()
	if d.carrier != nil {
		errs = append(errs, d.carrier.Destroy())
		d.carrier = nil
	}
	return errors.Join(errs...)
}
