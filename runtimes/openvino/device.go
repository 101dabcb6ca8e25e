package openvino

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/framework/nearest"
)

// device is what runs the model, with the properties that it is given.
type device struct {
	provider   string // cpu, gpu or npu
	name       string // as OpenVINO calls it
	properties map[string]string
}

// providers are the devices by the names of runtime.provider.
var providers = map[string]string{"cpu": "CPU", "gpu": "GPU", "npu": "NPU"}

// Properties that the runtime sets, where the device has them.
const (
	precision = "INFERENCE_PRECISION_HINT" // f32: other numbers would be other tokens; processors with bfloat16 instructions would take them
	streams   = "NUM_STREAMS"              // 1: one pass at a time, on all threads
	threads   = "INFERENCE_NUM_THREADS"
	pinning   = "ENABLE_CPU_PINNING" // NO: beside plugins and other processes a thread waits for the core that it is pinned to
)

// chooseDevice settles d.device.
func (d *Denoiser) chooseDevice() error {
	want := d.options.Provider
	if want == "" {
		want = "cpu"
	}
	if want != "auto" && providers[want] == "" {
		return fmt.Errorf("runtime: provider %q is none of runtime openvino; use cpu, gpu, npu or auto", want)
	}
	have, err := d.library.Devices()
	if err != nil {
		return fmt.Errorf("OpenVINO: its devices: %w; try `mdmhost runtime check --set runtime.kind=openvino`", err)
	}
	if want == "auto" {
		if want = "gpu"; !has(have, want) {
			want = "cpu"
			d.notes = append(d.notes, fmt.Sprintf("provider auto: runs on the CPU, because OpenVINO finds no GPU (its devices: %s)", strings.Join(have, ", ")))
		}
	}
	if !has(have, want) {
		return fmt.Errorf("provider %s: OpenVINO finds no such device (its devices: %s); install its driver and the library's plugin for it, or use provider cpu or auto", want, strings.Join(have, ", "))
	}
	d.device = device{provider: want, name: providers[want]}
	supported, err := d.library.Property(d.device.name, "SUPPORTED_PROPERTIES")
	if err != nil {
		return fmt.Errorf("provider %s: its properties: %w", want, err)
	}
	d.device.properties, err = settle(want, strings.Fields(supported), d.options)
	return err
}

// has tells whether the devices are of a provider: GPUs may be GPU, or GPU.0, GPU.1 and so on.
func has(devices []string, provider string) bool {
	return slices.ContainsFunc(devices, func(d string) bool { return d == providers[provider] || strings.HasPrefix(d, providers[provider]+".") })
}

// settle is the runtime's properties and the user's.
func settle(provider string, supported []string, o Options) (map[string]string, error) {
	if o.Threads < 0 {
		return nil, fmt.Errorf("runtime: threads %d; give 0 for one per core, or more", o.Threads)
	}
	all := map[string]string{precision: "f32", streams: "1", pinning: "NO"}
	if o.Threads > 0 {
		all[threads] = strconv.Itoa(o.Threads)
	}
	maps.DeleteFunc(all, func(key, _ string) bool { return !slices.Contains(supported, key) })
	for _, key := range slices.Sorted(maps.Keys(o.Properties)) {
		if key == threads {
			return nil, fmt.Errorf("runtime.provider_options: %s is runtime.threads; set that", key)
		}
		if !slices.Contains(supported, key) {
			return nil, fmt.Errorf("runtime.provider_options: %s is no property of provider %s%s", key, provider, nearest.DidYouMean(key, supported))
		}
		all[key] = o.Properties[key]
	}
	return all, nil
}
