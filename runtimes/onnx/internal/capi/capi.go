// Package capi is what the host needs of ONNX Runtime's C API beside the Go wrapper: opening and describing a library before
// anything depends on it, and the fused statistics head as a custom operator.
package capi

/*
#cgo CFLAGS: -O3 -Wall
#cgo LDFLAGS: -lm -ldl
#include <dlfcn.h>
#include "op.h"
#include "kernel.h"

static const OrtApiBase *base(void *get) { return ((const OrtApiBase *(*)(void))get)(); }
static const char *version(const OrtApiBase *b) { return b->GetVersionString(); }
static const OrtApi *api(const OrtApiBase *b) { return b->GetApi(ORT_API_VERSION); }
static OrtStatus *providers(const OrtApi *a, char ***names, int *n) { return a->GetAvailableProviders(names, n); }
static void free_providers(const OrtApi *a, char **names, int n) {
	OrtStatus *s = a->ReleaseAvailableProviders(names, n);
	if (s) a->ReleaseStatus(s);
}
static const char *message(const OrtApi *a, OrtStatus *s) { return a->GetErrorMessage(s); }
static void release(const OrtApi *a, OrtStatus *s) { a->ReleaseStatus(s); }
*/
import "C"

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// API is the version of the C API that this package and the Go wrapper are built for.
const API = C.ORT_API_VERSION

// Library is a loaded ONNX Runtime. It is never unloaded: its threads and registered memory may outlive every session.
type Library struct {
	Path    string
	Version string // such as "1.31.1"
	api     *C.OrtApi
}

// ErrTooOld is the error of a library whose API is older than [API]; Library.Version is then still valid.
var ErrTooOld = errors.New("library too old")

// Open loads the shared library at path.
func Open(path string) (*Library, error) {
	handle, err := dlopen(path, C.RTLD_LAZY)
	if err != nil {
		return nil, err
	}
	symbol := C.CString("OrtGetApiBase")
	defer C.free(unsafe.Pointer(symbol))
	get := C.dlsym(handle, symbol)
	if get == nil {
		C.dlclose(handle)
		return nil, errors.New("it is no ONNX Runtime library: it exports no OrtGetApiBase")
	}
	base := C.base(get)
	l := &Library{Path: path, Version: C.GoString(C.version(base))}
	// The version string is looked at first, because asking an old library for a new API makes it write to stderr.
	if part := strings.SplitN(l.Version, ".", 3); len(part) > 1 && part[0] == "1" {
		if minor, err := strconv.Atoi(part[1]); err == nil && minor < API {
			return l, ErrTooOld
		}
	}
	if l.api = C.api(base); l.api == nil {
		return l, ErrTooOld
	}
	return l, nil
}

// Preload loads a library for those that need it, with its symbols visible to them.
func Preload(path string) error {
	_, err := dlopen(path, C.RTLD_NOW|C.RTLD_GLOBAL)
	return err
}

func dlopen(path string, mode C.int) (unsafe.Pointer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(name, mode)
	if handle == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	return handle, nil
}

// Providers returns the execution providers that the library was built with, such as "CPUExecutionProvider".
func (l *Library) Providers() ([]string, error) {
	var names **C.char
	var n C.int
	if err := l.status(C.providers(l.api, &names, &n)); err != nil {
		return nil, err
	}
	defer C.free_providers(l.api, names, n)
	var out []string
	for _, name := range unsafe.Slice(names, int(n)) {
		out = append(out, C.GoString(name))
	}
	return out, nil
}

var registering sync.Mutex

// RegisterHead makes the fused head known to the sessions of options, an OrtSessionOptions.
func (l *Library) RegisterHead(options unsafe.Pointer) error {
	registering.Lock()
	defer registering.Unlock()
	return l.status(C.mdm_register(l.api, (*C.OrtSessionOptions)(options)))
}

// RegisterKernels makes the fused training kernels known to the sessions of options, an OrtSessionOptions.
func (l *Library) RegisterKernels(options unsafe.Pointer) error {
	registering.Lock()
	defer registering.Unlock()
	return l.status(C.mdm_register_kernels(l.api, (*C.OrtSessionOptions)(options)))
}

func (l *Library) status(s *C.OrtStatus) error {
	if s == nil {
		return nil
	}
	defer C.release(l.api, s)
	return fmt.Errorf("ONNX Runtime: %s", C.GoString(C.message(l.api, s)))
}

// Instructions names the vector instructions that the fused head uses on this machine.
func Instructions() string { return C.GoString(C.mdm_instructions()) }
