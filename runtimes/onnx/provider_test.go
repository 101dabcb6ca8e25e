package onnx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Options that a provider does not have are refused before ONNX Runtime sees them, with the nearest name; so are values of another kind,
// and what the runtime says itself.
func TestProviderOptions(t *testing.T) {
	for _, c := range []struct{ provider, option, value, want string }{
		{cuda, "use_tf32", "1", ""},
		{cuda, "gpu_mem_limit", "4294967296", ""},
		{cuda, "arena_extend_strategy", "kSameAsRequested", ""},
		{"tensorrt", "trt_engine_cache_path", "/tmp/engines", ""},
		{"tensorrt", "trt_fp16_enable", "True", ""},
		{"qnn", "backend_path", "libQnnHtp.so", ""},
		{cuda, "use_tf23", "1", "provider_options.use_tf23: provider cuda has no such option; did you mean use_tf32?"},
		{cuda, "zzz", "1", "has no such option; use arena_extend_strategy, "},
		{cuda, "trt_fp16_enable", "1", "provider cuda has no such option"},
		{cuda, "use_tf32", "yes", `expects 0, 1, false, true, False, True, found "yes"`},
		{cuda, "gpu_mem_limit", "4GB", `expects an integer from 0 up, found "4GB"`},
		{cuda, "arena_extend_strategy", "kNextPower", "expects kNextPowerOfTwo, kSameAsRequested"},
		{cuda, "device_id", "1", "use runtime.device"},
		{cuda, "enable_cuda_graph", "1", "use runtime.cuda_graph"},
		{cuda, "user_compute_stream", "1", "an address in memory; leave it out"},
		{"tensorrt", "trt_cuda_graph_enable", "1", "use provider cuda with runtime.cuda_graph"},
		{"tensorrt", "trt_fp61_enable", "1", "did you mean trt_fp16_enable?"},
		{"tensorrt", "trt_dla_core", "-1", "expects an integer from 0 up"},
		{"tensorrt", "trt_profile_min_shapes", "", "expects a text"},
		{"coreml", "ModelFormat", "x", "expects MLProgram, NeuralNetwork"},
		{"xnnpack", "threads", "2", "has no such option; "},
	} {
		_, err := Open(t.Context(), biased(), Options{Provider: c.provider, ProviderOptions: map[string]string{c.option: c.value}})
		switch {
		case err == nil:
			t.Fatalf("provider %s is here, which this test does not expect", c.provider)
		case c.want == "" && strings.Contains(err.Error(), "provider_options"):
			t.Errorf("%s %s=%s: %v", c.provider, c.option, c.value, err)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %s=%s: %v, want %q in it", c.provider, c.option, c.value, err, c.want)
		}
	}
}

// Providers that a library lacks are refused with what it has and where to get one.
func TestProvidersThatAreNotThere(t *testing.T) {
	report := Check(Options{})
	for _, p := range providers {
		if p.listed == "" {
			continue
		}
		why, missing := report.Missing[p.name]
		_, err := Open(t.Context(), biased(), Options{Provider: p.name})
		if !missing {
			t.Logf("provider %s is here", p.name)
			continue
		}
		if why == "" || err == nil {
			t.Fatalf("%s: missing because %q, error %v", p.name, why, err)
		}
		for _, want := range []string{"provider " + p.name + ": the library ", "CPUExecutionProvider", p.source, "mdmhost runtime check"} {
			if strings.HasPrefix(why, "not in this library") && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", p.name, err, want)
			}
		}
		if !strings.Contains(report.String(), p.name) {
			t.Errorf("the report does not name %s:\n%s", p.name, report)
		}
	}
}

// Settings that belong to other providers are refused with what they belong to.
func TestSettingsOfOtherProviders(t *testing.T) {
	for want, o := range map[string]Options{
		"cuda_graph is on and the provider is cpu; use provider cuda":                  {CUDAGraph: true},
		"cuda_graph is on and the provider is tensorrt":                                {CUDAGraph: true, Provider: "tensorrt"},
		"provider_library is given and the provider is cuda; use provider plugin":      {ProviderLibrary: "x", Provider: cuda},
		"device -1; give 0 for the first":                                              {Device: -1},
		"provider plugin: names no library; give its file as runtime.provider_library": {Provider: plugin},
	} {
		if _, err := Open(t.Context(), biased(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	d, err := Open(t.Context(), biased(), Options{Provider: auto, CUDAGraph: true, ProviderOptions: map[string]string{"use_tf32": "0"}})
	if err != nil {
		t.Fatal(err) // what goes with CUDA alone does not keep auto from the CPU
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Files that are no provider are refused, by name, and a second time as well.
func TestPluginLibraries(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	library, err := FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.so"): "cannot open shared object file",
		text:                          "file too short",
		library:                       "CreateEpFactories",
	} {
		for range 2 {
			_, err := Open(t.Context(), biased(), Options{Provider: plugin, ProviderLibrary: file})
			for _, part := range []string{"provider plugin: " + file, want, "exports CreateEpFactories"} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v, want %q in it", file, err, part)
				}
			}
		}
	}
}

// A graph that a provider cannot run or record is refused with what to change.
func TestRefusedSessions(t *testing.T) {
	d := &Denoiser{engine: engine{options: Options{CUDAGraph: true}, provider: cuda}}
	for message, want := range map[string]string{
		"Error creating C session: Could not find an implementation for Gemm(13) node with name '/layer.0/Gemm'":                                                           "provider cuda has no kernel for the operator Gemm(13) with the types that node '/layer.0/Gemm' has",
		"This session cannot use the graph capture feature as requested by the user  as all compute graph nodes have not been partitioned to the CUDAExecutionProvider":    "turn runtime.cuda_graph off",
		"This session cannot use the graph capture feature as requested by the user as the model has control flow nodes which can't be supported by CUDAExecutionProvider": "no control flow",
		"Failed to load model because protobuf parsing failed.": "check the file with onnx.checker",
	} {
		if err := d.refused(errors.New(message)); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}
