package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/mdmhost/mdmhost/framework/host/config"
	"github.com/mdmhost/mdmhost/framework/model"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
	"github.com/mdmhost/mdmhost/runtimes/spread"
)

// openONNX opens the model in ONNX Runtime, once for each device. Where the provider auto ends on the CPU, once is enough.
func openONNX(ctx context.Context, r config.Runtime, m *model.Model, o Options) (_ Denoiser, err error) {
	source, err := precise(m, r.Precision, o.Graph)
	if err != nil {
		return nil, err
	}
	options := ONNX(r)
	if len(r.Device) == 1 {
		options.LogitsMemory = o.LogitsMemory
		d, err := onnx.Open(ctx, source, options)
		if err != nil {
			return nil, err
		}
		return openStreams(ctx, r.Streams, o.Rows, d, source, options)
	}
	if r.Provider == "cpu" {
		return nil, fmt.Errorf("runtime.device: names %d devices, and the provider is cpu, which has none; use runtime.provider cuda, or one number", len(r.Device))
	}
	var members []spread.Member
	defer func() { err = closeAll(members, err) }()
	for i, device := range r.Device {
		if slices.Contains(r.Device[:i], device) {
			return nil, fmt.Errorf("runtime.device: names device %d twice; name each once", device)
		}
		options.Device = device
		d, err := onnx.Open(ctx, source, options)
		if err != nil {
			return nil, fmt.Errorf("device %d: %w", device, err)
		}
		members = append(members, spread.Member{Name: fmt.Sprintf("device %d", device), Denoiser: d})
		if options.Provider = d.Capabilities().Provider; options.Provider == "cpu" { // auto said why
			break
		}
	}
	return spread.New(members, spread.Options{LogitsMemory: o.LogitsMemory})
}

// small bounds the bytes of a model that is held twice without being asked for.
const small = 64 << 20

// openStreams opens the model d a second time, for passes side by side, one a thread, where that is wanted and batches have as many rows.
func openStreams(ctx context.Context, wanted string, rows int, d *onnx.Denoiser, source onnx.Model, options onnx.Options) (Denoiser, error) {
	caps, why := d.Capabilities(), ""
	switch {
	case caps.Provider != "cpu":
		why = fmt.Sprintf("the provider is %s, expected cpu: a device takes the whole batch in one pass, and several devices are named in runtime.device", caps.Provider)
	case caps.FixedRows > 0:
		why = fmt.Sprintf("the model was exported for %d rows, which every pass takes; export it anew with any number of rows", caps.FixedRows)
	}
	n := cmp.Or(options.Threads, runtime.GOMAXPROCS(0)) // which a container's share of the processors bounds
	switch {
	case wanted == "on" && why != "":
		return nil, errors.Join(fmt.Errorf("runtime.streams: on, and %s; or set it to auto", why), d.Close())
	case wanted == "off", why != "", n == 1, rows < n, wanted == "auto" && !d.Fits(small):
		return d, nil
	}
	options.Threads, options.LogitsMemory = 1, nil
	options.Provider, options.ProviderOptions, options.CUDAGraph = "cpu", nil, false // of auto, which has found no GPU
	other, err := onnx.Open(ctx, source, options)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	var side []spread.Member
	for i, one := range other.Beside(n) {
		side = append(side, spread.Member{Name: fmt.Sprintf("stream %d", i), Denoiser: one})
	}
	s, err := spread.NewStreams(d, side)
	if err != nil {
		return nil, closeAll(append(side, spread.Member{Denoiser: d}), err)
	}
	return s, nil
}

// Threads is how many threads a session on the CPU has for the setting n.
func Threads(n int) int { return cmp.Or(n, runtime.NumCPU()) }

// closeAll closes what was opened before an error.
func closeAll(members []spread.Member, err error) error {
	if err != nil {
		for _, member := range members {
			err = errors.Join(err, member.Close())
		}
	}
	return err
}
