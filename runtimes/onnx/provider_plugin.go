package onnx

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// registered are the providers' libraries that this process has loaded, with the devices that they brought. They are never
// unloaded: sessions point into them.
var registered struct {
	sync.Mutex
	devices map[string][]ort.EpDevice
}

// appendPlugin appends the provider of a library of its own, which exports CreateEpFactories: that is how vendors ship providers since
// ONNX Runtime 1.23. Device counts the devices that it finds.
func appendPlugin(e *engine, setup *ort.SessionOptions, options map[string]string) error {
	path := e.options.ProviderLibrary
	if path == "" {
		return fmt.Errorf("names no library; give its file as runtime.provider_library")
	}
	devices, err := register(path)
	if err != nil {
		return fmt.Errorf("%s: %w; give a library for ONNX Runtime %s that exports CreateEpFactories", path, err, e.library.Version)
	}
	if len(devices) == 0 {
		return fmt.Errorf("%s: found no device that it can run on in this machine; look at what it needs", path)
	}
	if at := e.options.Device; at >= len(devices) {
		var names []string
		for _, d := range devices {
			names = append(names, d.EpName()+" of "+d.EpVendor())
		}
		return fmt.Errorf("%s: has no device %d, it found %d here (%s); give another as runtime.device", path, at, len(devices), strings.Join(names, ", "))
	}
	if err := setup.AppendExecutionProviderV2(devices[e.options.Device:][:1], options); err != nil {
		return fmt.Errorf("%s: %w", path, plain(err))
	}
	return nil
}

// register loads a provider's library, once, and returns its devices.
func register(path string) ([]ort.EpDevice, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	registered.Lock()
	defer registered.Unlock()
	if devices, ok := registered.devices[path]; ok {
		return devices, nil
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	before, err := ort.GetEpDevices()
	if err != nil {
		return nil, plain(err)
	}
	if err := ort.RegisterExecutionProviderLibrary(name, path); err != nil {
		return nil, plain(err)
	}
	after, err := ort.GetEpDevices()
	if err != nil {
		return nil, plain(err)
	}
	devices := slices.DeleteFunc(after, func(d ort.EpDevice) bool { return slices.Contains(before, d) })
	if registered.devices == nil {
		registered.devices = map[string][]ort.EpDevice{}
	}
	registered.devices[path] = devices
	return devices, nil
}
