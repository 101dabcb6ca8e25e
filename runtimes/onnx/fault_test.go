package onnx

import (
	"errors"
	"strings"
	"testing"
)

// Messages as ONNX Runtime 1.31 and older ones write them.
func TestFault(t *testing.T) {
	const from = `Non-zero status code returned while running MatMul node. Name:'/layer.0/MatMul' Status Message: `
	for message, want := range map[string]error{
		from + `/onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Failed to allocate memory for requested buffer of size 4294967296`: ErrOutOfMemory,
		from + `Available memory of 1048576 is smaller than requested bytes of 4194304`:                                                                                                                              ErrOutOfMemory,
		`CUDA failure 2: out of memory ; GPU=0 ; hostname=gpu1 ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_allocator.cc ; line=47 ; expr=cudaMalloc((void**)&p, size); `:                            ErrOutOfMemory,
		from + `CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0 ; hostname=gpu1 ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_stream_handle.cc ; line=57 ; expr=cublasCreate(&cublas_handle_); `: ErrOutOfMemory,
		`Exception during initialization: std::bad_alloc`: ErrOutOfMemory,
		`CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; hostname=gpu1 ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_execution_provider.cc ; line=448 ; expr=cudaStreamSynchronize(static_cast<cudaStream_t>(stream_)); `: ErrDeviceLost,
		`CUDA failure 719: unspecified launch failure ; GPU=1 ; hostname=gpu1 ; expr=cudaEventRecord(event, stream); `:                                                                                                                                        ErrDeviceLost,
		`CUDA failure 702: the launch timed out and was terminated ; GPU=0 ; hostname=gpu1 ; expr=cudaMemcpy(dst_data, src_data, bytes, cudaMemcpyDeviceToHost); `:                                                                                            ErrDeviceLost,
		`CUDA failure 214: uncorrectable ECC error encountered ; GPU=0 ; hostname=gpu1 ; expr=cudaStreamSynchronize(stream); `:                                                                                                                                ErrDeviceLost,
		from + `CUDNN failure 8: CUDNN_STATUS_EXECUTION_FAILED ; GPU=0 ; hostname=gpu1 ; expr=cudnnReduceTensor(...); `:                                                                                                                                       ErrDeviceLost,
		"CUDA failure 700: an illegal memory access was encountered ; GPU=0 ; expr=x;\nCUDA failure 2: out of memory ; GPU=0 ; expr=y;":                                                                                                                       ErrDeviceLost,
		`CUDA failure 1: invalid argument ; GPU=0 ; hostname=gpu1 ; expr=cudaMemcpyAsync(dst_data, src_data, bytes, cudaMemcpyHostToDevice, stream); `:                                                                                                        nil,
		`CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=0 ; hostname=gpu1 ; expr=cudaSetDevice(info_.device_id); `:                                                                                                       nil,
		`Non-zero status code returned while running Gather node. Name:'' Status Message: indices element out of data bounds, idx=700 must be within the inclusive range [-4,3]`:                                                                              nil,
		`Exiting due to terminate flag being set to true.`: nil,
	} {
		if got := fault(message); got != want {
			t.Errorf("%s: %v, want %v", message, got, want)
		}
	}
}

// A message says what to do, and keeps its type.
func TestFailed(t *testing.T) {
	e := &engine{options: Options{Device: 1}, provider: cuda}
	for message, want := range map[string]struct {
		is    error
		parts []string
	}{
		"CUDA failure 2: out of memory ; GPU=1 ; expr=cudaMalloc":            {ErrOutOfMemory, []string{"out of memory on device 1 (provider cuda)", "use a smaller --batch"}},
		"CUDA failure 700: an illegal memory access was encountered ; GPU=1": {ErrDeviceLost, []string{"device lost", "device 1 (provider cuda)", "start the process again"}},
		"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions": {nil, []string{"Got invalid dimensions; look at the input"}},
	} {
		err := e.failed(errors.New(message), "look at the input")
		if want.is != nil && !errors.Is(err, want.is) {
			t.Errorf("%v is not %v", err, want.is)
		}
		for _, part := range want.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q, want %q in it", err, part)
			}
		}
	}
}

// A lost device stays lost: no later pass is tried.
func TestLostDevice(t *testing.T) {
	d, err := Open(t.Context(), biased(), Options{Provider: "stand-in0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Configure(t.Context(), deviceHead); err != nil {
		t.Fatal(err)
	}
	batch, err := d.Batch(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	fill(batch, 0)
	d.lose(d.failed(errors.New("CUDA failure 719: unspecified launch failure ; GPU=0 ; expr=x"), ""))
	for range 2 {
		if _, err := d.Run(t.Context()); !errors.Is(err, ErrDeviceLost) {
			t.Errorf("error %v, want %v", err, ErrDeviceLost)
		}
	}
	d.lost = nil
	d.lose(d.failed(errors.New("CUDA failure 2: out of memory ; GPU=0 ; expr=x"), ""))
	if _, err := d.Run(t.Context()); err != nil {
		t.Errorf("after too little memory for one batch: %v", err)
	}
}

// What providers say where something is missing, in plain words.
func TestMissing(t *testing.T) {
	e := &engine{nvidia: []string{"/opt/nv/libcudart.so.13"}}
	for message, parts := range map[string][]string{
		`/onnxruntime_src/onnxruntime/core/session/provider_bridge_ort.cc:1844 onnxruntime::Provider& onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file: No such file or directory`: {
			"the library libcublasLt.so.13 is missing", "libcudart.so.13", "runtime.library_dirs", "mdmhost runtime install cuda"},
		`/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_execution_provider_info.cc:69 [ONNXRuntimeError] : 1 : FAIL : provider_options_utils.h:151 Parse Failed to parse provider option "device_id": Invalid device ID: 7, must be between 0 (inclusive) and 2 (exclusive).`: {
			"device 7 does not exist, this machine has 2, numbered from 0"},
		`CUDA failure 35: CUDA driver version is insufficient for CUDA runtime version ; GPU=0 ; hostname=h ; file=cuda_execution_provider_info.cc ; line=66 ; expr=cudaGetDeviceCount(&num_devices); `: {
			"no GPU can be used: CUDA driver version is insufficient for CUDA runtime version", "nvidia-smi"},
		`CUDA failure 100: no CUDA-capable device is detected ; GPU=0 ; hostname=h ; expr=cudaGetDeviceCount(&num_devices); `: {"no CUDA-capable device is detected", "CUDA_VISIBLE_DEVICES"},
	} {
		err := e.missing(errors.New(message))
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q in it", message, err, part)
			}
		}
	}
}
