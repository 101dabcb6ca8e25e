package onnx

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

var levels = map[string]ort.GraphOptimizationLevel{
	"": ort.GraphOptimizationLevelEnableAll, "all": ort.GraphOptimizationLevelEnableAll, "extended": ort.GraphOptimizationLevelEnableExtended,
	"basic": ort.GraphOptimizationLevelEnableBasic, "off": ort.GraphOptimizationLevelDisableAll,
}

// engine is the library with the options and the provider that sessions are made with.
type engine struct {
	options  Options
	library  *capi.Library
	provider string // "cpu" or "cuda", once chosen
	notes    []string
	nvidia   []string // libraries loaded for CUDA
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
	entries := map[string]string{"session.intra_op.allow_spinning": "0"}
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
	if !slices.Contains([]string{"", "cpu", "cuda", "auto"}, want) {
		return nil, fmt.Errorf("runtime: provider %q is unknown; use cpu, cuda or auto", want)
	}
	if len(e.options.ProviderOptions) > 0 && (want == "" || want == "cpu") {
		return nil, fmt.Errorf("runtime: provider_options are given and the provider is cpu, which has none; remove them, or use provider cuda")
	}
	setup, err := e.sessionOptions(dir)
	if err != nil {
		return nil, err
	}
	e.provider = "cpu"
	if want == "" || want == "cpu" {
		return setup, nil
	}
	if err = e.appendCUDA(setup); err == nil {
		e.provider = "cuda"
		return setup, nil
	}
	if want == "cuda" {
		_ = setup.Destroy()
		return nil, fmt.Errorf("provider cuda: %w; run `mdmhost runtime check`, or use provider cpu or auto", err)
	}
	e.notes = append(e.notes, fmt.Sprintf("provider auto: runs on the CPU, because CUDA cannot be had: %v", err))
	return setup, nil
}

// appendCUDA appends the CUDA provider to session options, or says what is missing.
func (e *engine) appendCUDA(setup *ort.SessionOptions) error {
	if err := hasCUDA(e.library); err != nil {
		return err
	}
	e.nvidia = preload(e.options.LibraryDirs)
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer func() { _ = cuda.Destroy() }()
	settings := map[string]string{"device_id": strconv.Itoa(e.options.Device), "use_tf32": "0"}
	maps.Copy(settings, e.options.ProviderOptions)
	if err := cuda.Update(settings); err != nil {
		return missing(err, e.nvidia)
	}
	return missing(setup.AppendExecutionProviderCUDA(cuda), e.nvidia)
}

// hasCUDA says why the library itself has no CUDA.
func hasCUDA(l *capi.Library) error {
	providers, err := l.Providers()
	if err != nil {
		return err
	}
	if !slices.Contains(providers, "CUDAExecutionProvider") {
		return fmt.Errorf("the library %s (%s) is built without CUDA; put the libonnxruntime* files of onnxruntime-gpu %s into one folder and name it as library", l.Path, l.Version, Version)
	}
	return nil
}

// The nvidia libraries that the CUDA provider is linked with or loads, those first that others need.
var nvidia = []string{"libcudart.so.", "libnvJitLink.so.", "libnvrtc.so.", "libcublasLt.so.", "libcublas.so.", "libcurand.so.", "libcufft.so.", "libcudnn.so."}

// preload opens the nvidia libraries of dirs by absolute path, so that no LD_LIBRARY_PATH is needed, and returns the files
// that it loaded and the errors of those that failed. A folder may be the library folder itself, third_party/nv, or a
// site-packages with nvidia/*/lib or torch/lib in it.
func preload(dirs []string) (report []string) {
	for _, stem := range nvidia {
		for _, dir := range append(slices.Clone(dirs), nvidiaDirs()...) {
			if dir == "" {
				continue
			}
			if file := newest(dir, stem); file != "" {
				if err := capi.Preload(file); err != nil {
					report = append(report, fmt.Sprintf("%s: %v", file, err))
				} else {
					report = append(report, file)
				}
				break
			}
		}
	}
	return report
}

func nvidiaDirs() []string {
	var out []string
	for _, dir := range searchDirs() {
		out = append(out, filepath.Join(filepath.Dir(dir), "nv"))
	}
	return out
}

// newest returns the absolute path of a library whose name starts with stem, in dir or in the places below it where Python
// packages put theirs.
func newest(dir, stem string) string {
	var found []string
	for _, below := range []string{"", "nvidia/*/lib", "torch/lib", "*/lib"} {
		files, _ := filepath.Glob(filepath.Join(dir, below, stem+"*"))
		found = append(found, files...)
	}
	sort.Strings(found)
	if len(found) == 0 {
		return ""
	}
	file, err := filepath.Abs(found[len(found)-1])
	if err != nil {
		return ""
	}
	return file
}

// missing says in plain words why the CUDA provider cannot be had, and what was loaded for it.
func missing(err error, loaded []string) error {
	if err == nil {
		return nil
	}
	if len(loaded) == 0 {
		return fmt.Errorf("%w; no nvidia libraries were found in runtime.library_dirs or third_party/nv", plain(err))
	}
	short := make([]string, len(loaded))
	for i, file := range loaded {
		short[i] = filepath.Base(file)
	}
	return fmt.Errorf("%w; loaded for it: %s", plain(err), strings.Join(short, ", "))
}

var place = regexp.MustCompile(`^.*\[ONNXRuntimeError\] : \d+ : \w+ : `)

// plain takes the source line and the code off a message of ONNX Runtime.
func plain(err error) error {
	if text := place.ReplaceAllString(err.Error(), ""); text != err.Error() {
		return errors.New(text)
	}
	return err
}
