package backend

import (
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
	if r.Sessions > 1 {
		return openSessions(ctx, r.Sessions, source, options, o)
	}
	if len(r.Device) == 1 {
		options.LogitsMemory = o.LogitsMemory
		return onnx.Open(ctx, source, options)
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

// openSessions opens the model in several sessions on the CPU, each with its part of the threads.
func openSessions(ctx context.Context, n int, source onnx.Model, options onnx.Options, o Options) (_ Denoiser, err error) {
	threads := options.Threads
	if threads == 0 {
		threads = runtime.NumCPU()
	}
	options.Threads = max(1, threads/n)
	var members []spread.Member
	defer func() { err = closeAll(members, err) }()
	for i := range n {
		d, err := onnx.Open(ctx, source, options)
		if err != nil {
			return nil, err
		}
		members = append(members, spread.Member{Name: fmt.Sprintf("session %d", i), Denoiser: d})
		if provider := d.Capabilities().Provider; provider != "cpu" {
			return nil, fmt.Errorf("runtime.sessions: %d sessions, and the provider is %s, expected cpu: on a device one session takes the whole batch; leave it out, or name several devices in runtime.device", n, provider)
		}
	}
	return spread.New(members, spread.Options{LogitsMemory: o.LogitsMemory})
}

// closeAll closes what was opened before an error.
func closeAll(members []spread.Member, err error) error {
	if err != nil {
		for _, member := range members {
			err = errors.Join(err, member.Close())
		}
	}
	return err
}
