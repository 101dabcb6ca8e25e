package onnx

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/runtimes/install"
	"github.com/mdmhost/mdmhost/runtimes/onnx/internal/capi"
)

// appendCUDA appends the CUDA provider, which computes float32 products in float32 unless it is told otherwise.
func appendCUDA(e *engine, setup *ort.SessionOptions, options map[string]string) error {
	e.nvidia = preload(nvidia, e.nvidiaDirs())
	settings := map[string]string{"device_id": strconv.Itoa(e.options.Device), "use_tf32": "0"}
	if e.options.CUDAGraph {
		settings["enable_cuda_graph"] = "1"
	}
	maps.Copy(settings, options)
	made, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return e.missing(err)
	}
	defer func() { _ = made.Destroy() }()
	if err := made.Update(settings); err != nil {
		return e.missing(err)
	}
	return e.missing(setup.AppendExecutionProviderCUDA(made))
}

// appendTensorRT appends the TensorRT provider. Engines take minutes to build, so they are kept in the user's cache.
func appendTensorRT(e *engine, setup *ort.SessionOptions, options map[string]string) error {
	e.nvidia = preload(slices.Concat(nvidia, tensorrt), e.nvidiaDirs())
	const products = "NVIDIA_TF32_OVERRIDE" // TensorRT computes float32 products in TF32, and this alone tells it not to
	if _, set := os.LookupEnv(products); !set {
		_ = os.Setenv(products, "0") // fails for malformed names only
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("a folder for engines: %w; set HOME or XDG_CACHE_HOME, or give provider_options.trt_engine_cache_path", err)
	}
	dir = cmp.Or(options["trt_engine_cache_path"], filepath.Join(dir, "mdmhost", "tensorrt"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("a folder for engines: %w; give another as provider_options.trt_engine_cache_path", err)
	}
	settings := map[string]string{"device_id": strconv.Itoa(e.options.Device), "trt_engine_cache_enable": "1", "trt_engine_cache_path": dir,
		"trt_timing_cache_enable": "1", "trt_timing_cache_path": dir}
	maps.Copy(settings, options)
	made, err := ort.NewTensorRTProviderOptions()
	if err != nil {
		return e.missing(err)
	}
	defer func() { _ = made.Destroy() }()
	if err := made.Update(settings); err != nil {
		return e.missing(err)
	}
	return e.missing(setup.AppendExecutionProviderTensorRT(made))
}

// The nvidia libraries that the CUDA provider is linked with or loads, those first that others need, and those of TensorRT.
var (
	nvidia   = []string{"libcudart.so.", "libnvJitLink.so.", "libnvrtc.so.", "libcublasLt.so.", "libcublas.so.", "libcurand.so.", "libcufft.so.", "libcudnn.so."}
	tensorrt = []string{"libnvinfer.so.", "libnvinfer_plugin.so.", "libnvonnxparser.so."}
)

// preload opens libraries of dirs by absolute path, so that no LD_LIBRARY_PATH is needed, and returns the files that it loaded and
// the errors of those that failed. A folder may be the library folder itself, third_party/nv, or a site-packages with nvidia/*/lib,
// torch/lib or tensorrt_libs in it.
func preload(stems, dirs []string) (report []string) {
	for _, stem := range stems {
		for _, dir := range dirs {
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

// nvidiaDirs are the folders that may have nvidia libraries: those that the user names, that of the library, where `mdmhost runtime install
// cuda` puts pinned ones, and third_party/nv.
func (e *engine) nvidiaDirs() []string {
	out := append(slices.Clone(e.options.LibraryDirs), filepath.Dir(e.library.Path))
	if dir, err := install.Dir(install.CUDA); err == nil {
		out = append(out, dir)
	}
	for _, dir := range searchDirs() {
		out = append(out, filepath.Join(filepath.Dir(dir), "nv"))
	}
	return out
}

// newest returns the absolute path of a library whose name starts with stem, in dir or in the places below it where Python
// packages put theirs.
func newest(dir, stem string) string {
	var found []string
	for _, below := range []string{"", "nvidia/*/lib", "torch/lib", "tensorrt_libs", "*/lib"} {
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

// What providers say where something is missing.
var (
	missingFile   = regexp.MustCompile(`(lib[\w.+-]+\.so[\w.]*): cannot open shared object file`)
	missingDevice = regexp.MustCompile(`Invalid device ID: (-?\d+), must be between 0 \(inclusive\) and (\d+) \(exclusive\)`)
	missingDriver = regexp.MustCompile(`CUDA failure (?:35|100|101|999|3): ([^;]*?) *;`)
)

// missing says in plain words why a provider cannot be had, and what was loaded for it.
func (e *engine) missing(err error) error {
	if err == nil {
		return nil
	}
	err = plain(err)
	text := err.Error()
	if m := missingDevice.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("device %s does not exist, this machine has %s, numbered from 0; give another as runtime.device", m[1], m[2])
	}
	if m := missingDriver.FindStringSubmatch(text); m != nil {
		return fmt.Errorf("no GPU can be used: %s; look at nvidia-smi: the driver may be missing or too old, or CUDA_VISIBLE_DEVICES empty", m[1])
	}
	var loaded []string
	for _, file := range e.nvidia {
		loaded = append(loaded, filepath.Base(file))
	}
	told := "loaded for it: " + strings.Join(loaded, ", ")
	if len(loaded) == 0 {
		told = "no nvidia libraries were found in runtime.library_dirs or third_party/nv"
	}
	if m := missingFile.FindStringSubmatch(text); m != nil {
		if m[1] == "libcuda.so.1" { // comes with the driver, never with a package
			return fmt.Errorf("this machine has no NVIDIA driver: its library %s is missing; install the driver, which must be one for CUDA 13 (580 or newer); %s", m[1], told)
		}
		return fmt.Errorf("the library %s is missing: %s; name the folder that has it in runtime.library_dirs, or run `mdmhost runtime install cuda` (%w)", m[1], told, err)
	}
	return fmt.Errorf("%w; %s", err, told)
}
