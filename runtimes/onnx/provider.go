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

// sessionOptions turns Options into ONNX Runtime's, without a provider.
func (d *Denoiser) sessionOptions() (_ *ort.SessionOptions, err error) {
	o := &d.options
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
	if d.ports.external {
		entries["session.model_external_initializers_file_folder_path"] = d.model.Dir
	}
	maps.Copy(entries, o.SessionConfig)
	errs := []error{s.SetIntraOpNumThreads(o.Threads), s.SetInterOpNumThreads(1), s.SetGraphOptimizationLevel(level),
		s.SetLogSeverityLevel(ort.LoggingLevelError), s.SetCpuMemArena(!o.NoArena), s.SetMemPattern(!o.NoPattern)}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		errs = append(errs, s.AddSessionConfigEntry(key, entries[key]))
	}
	if err := errors.Join(errs...); err != nil {
		_ = s.Destroy()
		return nil, fmt.Errorf("runtime: session options: %w", err)
	}
	return s, nil
}

// chooseProvider sets d.setup to session options with the provider appended and returns its name.
func (d *Denoiser) chooseProvider() (string, error) {
	want := d.options.Provider
	if !slices.Contains([]string{"", "cpu", "cuda", "auto"}, want) {
		return "", fmt.Errorf("runtime: provider %q is unknown; use cpu, cuda or auto", want)
	}
	if len(d.options.ProviderOptions) > 0 && (want == "" || want == "cpu") {
		return "", fmt.Errorf("runtime: provider_options are given and the provider is cpu, which has none; remove them, or use provider cuda")
	}
	var err error
	if d.setup, err = d.sessionOptions(); err != nil {
		return "", err
	}
	if want == "" || want == "cpu" {
		return "cpu", nil
	}
	if err = d.appendCUDA(); err == nil {
		return "cuda", nil
	}
	if want == "cuda" {
		_ = d.setup.Destroy()
		return "", fmt.Errorf("provider cuda: %w; run `mdmhost runtime check`, or use provider cpu or auto", err)
	}
	d.notes = append(d.notes, fmt.Sprintf("provider auto: runs on the CPU, because CUDA cannot be had: %v", err))
	return "cpu", nil
}

// appendCUDA appends the CUDA provider to d.setup, or says what is missing.
func (d *Denoiser) appendCUDA() error {
	if err := hasCUDA(d.library); err != nil {
		return err
	}
	d.nvidia = preload(d.options.LibraryDirs)
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer func() { _ = cuda.Destroy() }()
	settings := map[string]string{"device_id": strconv.Itoa(d.options.Device), "use_tf32": "0"}
	maps.Copy(settings, d.options.ProviderOptions)
	if err := cuda.Update(settings); err != nil {
		return missing(err, d.nvidia)
	}
	return missing(d.setup.AppendExecutionProviderCUDA(cuda), d.nvidia)
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
