package onnx

import (
	"fmt"
	"slices"
	"strings"

	ort "github.com/yalue/onnxruntime_go"
)

// Providers of which the runtime knows more than their names.
const (
	cpu    = "cpu"
	cuda   = "cuda"
	auto   = "auto"
	plugin = "plugin"
)

// provider is one of ONNX Runtime's execution providers.
type provider struct {
	name   string // in settings
	listed string // as the library lists it
	called string // as the library is asked for it, where one call serves several

	graphs         bool   // it replays CUDA graphs
	memory, pinned string // names of the device's memory and of host memory that it copies faster; "" where tensors cross as they are

	source   string            // what has it, for who lacks it
	options  map[string]option // by ORT's names; nil where they are not known here and go to ORT as they are
	reserved map[string]string // options that the runtime sets, and what to use instead
	also     []string          // providers that take what this one does not, before the CPU
	append   func(*engine, *ort.SessionOptions, map[string]string) error
}

// providers are all that can be named, beside cpu and auto.
var providers = []*provider{
	{
		name: cuda, listed: "CUDAExecutionProvider", memory: "Cuda", pinned: "CudaPinned", graphs: true,
		source: "`mdmhost runtime install cuda` fetches a library with it", options: cudaOptions, reserved: cudaReserved, append: appendCUDA,
	},
	{
		name: "tensorrt", listed: "TensorrtExecutionProvider", memory: "Cuda", pinned: "CudaPinned",
		source: "`mdmhost runtime install cuda` fetches a library with it; TensorRT's own libraries come with the pip package tensorrt", options: tensorrtOptions, reserved: tensorrtReserved,
		also: []string{cuda}, append: appendTensorRT,
	},
	{
		name: "tensorrt-rtx", listed: "NvTensorRTRTXExecutionProvider", called: "NvTensorRtRtx", memory: "Cuda", pinned: "CudaPinned",
		source: "the pip package onnxruntime-ep-nv-tensorrt-rtx has it as a library of its own, for provider plugin",
	},
	{
		name: "migraphx", listed: "MIGraphXExecutionProvider", called: "MIGraphX", memory: "Hip", pinned: "HipPinned",
		source: "AMD's pip package onnxruntime-migraphx has a library with it",
	},
	{name: "webgpu", listed: "WebGpuExecutionProvider", called: "WebGPU", source: "the pip package onnxruntime-ep-webgpu has it as a library of its own, for provider plugin"},
	{name: "coreml", listed: "CoreMLExecutionProvider", called: "CoreML", source: "libraries for macOS have it", options: coreMLOptions},
	{name: "xnnpack", listed: "XnnpackExecutionProvider", called: "XNNPACK", source: "it takes a library that was built with --use_xnnpack", options: xnnpackOptions},
	{name: "qnn", listed: "QNNExecutionProvider", called: "QNN", source: "the pip package onnxruntime-qnn has it as a library of its own, for provider plugin"},
	{name: "vitisai", listed: "VitisAIExecutionProvider", called: "VitisAI", source: "AMD's Ryzen AI software has a library with it"},
	{name: plugin, append: appendPlugin},
}

// Providers are the names that [Options].Provider takes.
func Providers() []string {
	names := []string{cpu}
	for _, p := range providers {
		names = append(names, p.name)
	}
	return append(names, auto)
}

// providerOf returns the provider of a name; that of auto is cuda, and that of the CPU nil.
func providerOf(name string) (*provider, error) {
	switch name {
	case "", cpu:
		return nil, nil
	case auto:
		name = cuda
	}
	if i := slices.IndexFunc(providers, func(p *provider) bool { return p.name == name }); i >= 0 {
		return providers[i], nil
	}
	return nil, fmt.Errorf("runtime: provider %q is unknown; use %s", name, strings.Join(Providers(), ", "))
}
