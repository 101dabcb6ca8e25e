package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

var levels = map[string]ort.GraphOptimizationLevel{
	"": ort.GraphOptimizationLevelEnableAll, "all": ort.GraphOptimizationLevelEnableAll, "extended": ort.GraphOptimizationLevelEnableExtended,
	"basic": ort.GraphOptimizationLevelEnableBasic, "off": ort.GraphOptimizationLevelDisableAll,
}

// A thread that waits for the next operator's work looks for it for some microseconds before it sleeps: waking takes longer than most operators
// of small models. ONNX Runtime's own default is milliseconds, which plugins and neighbours would lack.
const (
	spinning         = "session.intra_op.allow_spinning"
	spinMicroseconds = "session.intra_op.spin_duration_us"
)

// engine is the library with the options and the provider that sessions are made with.
type engine struct {
	options  Options
	library  *capi.Library
	provider string    // its name, once chosen
	kind     *provider // the same; nil for the CPU
	notes    []string
	nvidia   []string // libraries loaded for nvidia's providers
}

// sessionOptions turns Options into ONNX Runtime's, without a provider. External data is read from the folder dir, if that
// is not "".
func (e *engine) sessionOptions(dir string) (_ *ort.SessionOptions, err error) {
	o := &e.options
	level, ok := levels[o.Optimize]
	if !ok {
		return nil, fmt.Errorf("runtime: optimize %q is unknown; use all, extended, basic or off", o.Optimize)
	}
	if o.Threads < 0 {
		return nil, fmt.Errorf("runtime: threads %d; give 0 for one per core, or more", o.Threads)
	}
	s, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %w", err)
	}
	entries := map[string]string{spinning: "1", spinMicroseconds: "50"}
	if dir != "" {
		entries["session.model_external_initializers_file_folder_path"] = dir
	}
	maps.Copy(entries, o.SessionConfig)
	errs := []error{s.SetIntraOpNumThreads(o.Threads), s.SetInterOpNumThreads(1), s.SetGraphOptimizationLevel(level),
		s.SetLogSeverityLevel(ort.LoggingLevelError), s.SetCpuMemArena(!o.NoArena), s.SetMemPattern(!o.NoPattern)}
	if o.Profile != "" {
		errs = append(errs, s.EnableProfiling(o.Profile))
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		errs = append(errs, s.AddSessionConfigEntry(key, entries[key]))
	}
	if err := errors.Join(errs...); err != nil {
		_ = s.Destroy()
		return nil, fmt.Errorf("runtime: session options: %w", err)
	}
	return s, nil
}

// chooseProvider settles e.provider and returns session options with it.
func (e *engine) chooseProvider(dir string) (*ort.SessionOptions, error) {
	want := e.options.Provider
	p, err := providerOf(want)
	switch {
	case err != nil:
		return nil, err
	case p == nil && len(e.options.ProviderOptions) > 0:
		return nil, fmt.Errorf("runtime: provider_options are given and the provider is cpu, which has none; remove them, or use another provider")
	case e.options.CUDAGraph && (p == nil || !p.graphs):
		return nil, fmt.Errorf("runtime: cuda_graph is on and the provider is %s; use provider cuda, or turn it off", cmp.Or(want, cpu))
	case e.options.ProviderLibrary != "" && (p == nil || p.name != plugin):
		return nil, fmt.Errorf("runtime: provider_library is given and the provider is %s; use provider %s, or remove it", cmp.Or(want, cpu), plugin)
	case e.options.Device < 0:
		return nil, fmt.Errorf("runtime: device %d; give 0 for the first, or more", e.options.Device)
	case p != nil:
		if err := p.check(e.options.ProviderOptions); err != nil {
			return nil, err
		}
	}
	setup, err := e.sessionOptions(dir)
	if err != nil {
		return nil, err
	}
	if e.provider = cpu; p == nil {
		return setup, nil
	}
	if err = e.append(setup, p); err == nil {
		e.provider, e.kind = p.name, p
		return setup, nil
	}
	_ = setup.Destroy()
	if want != auto {
		return nil, fmt.Errorf("provider %s: %w; run `mdmhost runtime check`, or use provider cpu", p.name, err)
	}
	e.options.ProviderOptions, e.options.CUDAGraph = nil, false // which are CUDA's
	e.notes = append(e.notes, fmt.Sprintf("provider auto: runs on the CPU, because CUDA cannot be had: %v", err))
	return e.sessionOptions(dir)
}

// append appends a provider to session options, with those that take what it leaves, or says what is missing.
func (e *engine) append(setup *ort.SessionOptions, p *provider) error {
	if err := e.appendOne(setup, p, e.options.ProviderOptions); err != nil {
		return err
	}
	for _, name := range p.also {
		next, err := providerOf(name)
		if err == nil {
			err = e.appendOne(setup, next, nil)
		}
		if err != nil {
			return err
		}
	}
	return setup.AddSessionConfigEntry(recordPlacement, "1")
}

func (e *engine) appendOne(setup *ort.SessionOptions, p *provider, options map[string]string) error {
	if p.listed != "" {
		have, err := e.library.Providers()
		if err != nil {
			return err
		}
		if !slices.Contains(have, p.listed) {
			return fmt.Errorf("the library %s (%s) is built without it, with %s alone; %s", e.library.Path, e.library.Version, strings.Join(have, ", "), p.source)
		}
	}
	if p.append != nil {
		return p.append(e, setup, options)
	}
	if err := setup.AppendExecutionProvider(p.called, options); err != nil {
		return plain(err)
	}
	return nil
}
