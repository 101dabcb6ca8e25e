package onnx

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mdmhost/mdmhost/runtimes/internal/offheap"
)

var (
	// ErrOutOfMemory is in the error of a pass, or of an opening, for which the device or the host has too little memory. A
	// denoiser is as it was before: a smaller batch may run.
	ErrOutOfMemory = offheap.ErrOutOfMemory

	// ErrDeviceLost is in the error of a pass after which the process can no longer use its device. Every later pass fails with
	// it, too; only a new process gets the device back.
	ErrDeviceLost = errors.New("device lost")
)

// outOfMemory are parts of the messages of ONNX Runtime, cuBLAS, cuDNN and TensorRT where memory is short.
var outOfMemory = []string{
	"Failed to allocate memory for requested buffer of size", "is smaller than requested bytes of", "std::bad_alloc", "bad allocation",
	"CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED", "CUDA out of memory", "hipErrorOutOfMemory", "OutOfMemory",
}

// failure is how ONNX Runtime's providers report the error of a library that they call.
var failure = regexp.MustCompile(`\b(CUDA|HIP) (?:failure|error) (\d+)`)

// Errors of CUDA, and of HIP, which numbers them alike.
const outOfDeviceMemory = 2

// lost are the errors of CUDA after which every call of the process fails: unavailable device, memory errors that were not corrected, and
// what a kernel that went wrong leaves behind (illegal address, timeout, assertion, illegal instruction, launch failure, and so on).
var lost = []int{46, 214, 220, 226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 999}

// fault tells what a message of ONNX Runtime means for what runs: [ErrOutOfMemory], [ErrDeviceLost], or nil for anything else.
func fault(message string) error {
	found := failure.FindAllStringSubmatch(message, -1)
	code := func(of ...int) bool {
		return slices.ContainsFunc(found, func(m []string) bool {
			n, err := strconv.Atoi(m[2])
			return err == nil && slices.Contains(of, n)
		})
	}
	part := func(of ...string) bool {
		return slices.ContainsFunc(of, func(s string) bool { return strings.Contains(message, s) })
	}
	switch {
	case code(lost...), part("CUBLAS_STATUS_EXECUTION_FAILED", "CUDNN_STATUS_EXECUTION_FAILED", "DXGI_ERROR_DEVICE_REMOVED", "Device is lost"):
		return ErrDeviceLost
	case code(outOfDeviceMemory), part(outOfMemory...):
		return ErrOutOfMemory
	}
	return nil
}

// failed says what an error of ONNX Runtime means and what to do; advice is for errors of any other kind.
func (e *engine) failed(err error, advice string) error {
	err = plain(err)
	switch kind := fault(err.Error()); kind {
	case ErrOutOfMemory:
		return fmt.Errorf("%w on %s: %w; use a smaller --batch, or free memory", kind, e.where(), err)
	case ErrDeviceLost:
		return fmt.Errorf("%w: %s cannot be used by this process any more: %w; start the process again, and look for the cause in the system's log (dmesg)", kind, e.where(), err)
	}
	return fmt.Errorf("%w; %s", err, advice)
}

// refused says why the session of a denoiser could not be made.
func (d *Denoiser) refused(err error) error {
	if text := plain(err).Error(); d.options.CUDAGraph && strings.Contains(text, "graph capture feature") {
		return fmt.Errorf("cuda_graph cannot be had: %s; a CUDA graph has no control flow and nothing that runs on the CPU: turn runtime.cuda_graph off, or export the model without", text)
	}
	if m := noKernel.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("provider %s has no kernel for the operator %s with the types that node %s has: %w; use another provider, or an ONNX file of another precision (runtime.precision)", d.provider, m[1], m[2], plain(err))
	}
	return d.failed(err, "check the file with onnx.checker, or export it anew")
}

// noKernel is how ONNX Runtime names an operator that none of a session's providers can run.
var noKernel = regexp.MustCompile(`Could not find an implementation for (\S+) node with name ('[^']*')`)

// where is what sessions run on, for messages.
func (e *engine) where() string {
	if e.provider == "" || e.provider == cpu {
		return "the CPU"
	}
	return fmt.Sprintf("device %d (provider %s)", e.options.Device, e.provider)
}

var place = regexp.MustCompile(`^.*\[ONNXRuntimeError\] : \d+ : \w+ : `)

// plain takes the source line and the code off a message of ONNX Runtime.
func plain(err error) error {
	if text := place.ReplaceAllString(err.Error(), ""); text != err.Error() {
		return errors.New(text)
	}
	return err
}
