package capi

/*
#include <stdlib.h>
#include <string.h>
#include "onnxruntime_c_api.h"

static OrtStatus *host_info(const OrtApi *a, OrtMemoryInfo **out) { return a->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, out); }
static OrtStatus *device_info(const OrtApi *a, const char *name, int id, OrtMemoryInfo **out) {
	return a->CreateMemoryInfo(name, OrtArenaAllocator, id, OrtMemTypeDefault, out);
}
static OrtStatus *allocator(const OrtApi *a, const OrtSession *s, const OrtMemoryInfo *i, OrtAllocator **out) { return a->CreateAllocator(s, i, out); }
static OrtStatus *alloc(const OrtApi *a, OrtAllocator *from, size_t n, void **out) { return a->AllocatorAlloc(from, n, out); }
static void give(const OrtApi *a, OrtAllocator *to, void *p) {
	OrtStatus *s = a->AllocatorFree(to, p);
	if (s) a->ReleaseStatus(s);
}
static void release_place(const OrtApi *a, OrtMemoryInfo *i, OrtAllocator *from) {
	if (from) a->ReleaseAllocator(from);
	a->ReleaseMemoryInfo(i);
}
static OrtStatus *tensor(const OrtApi *a, const OrtMemoryInfo *i, void *p, size_t bytes, const int64_t *dims, size_t rank, int type, OrtValue **out) {
	return a->CreateTensorWithDataAsOrtValue(i, p, bytes, dims, rank, (ONNXTensorElementDataType)type, out);
}
static void release_value(const OrtApi *a, OrtValue *v) { a->ReleaseValue(v); }
static OrtStatus *fix(const OrtApi *a, OrtSessionOptions *o, const char *name, int64_t n) { return a->AddFreeDimensionOverrideByName(o, name, n); }
static OrtStatus *run_one(const OrtApi *a, OrtSession *s, const OrtValue *in, OrtValue *out) {
	static const char *const x = "x", *const y = "y";
	return a->Run(s, NULL, &x, &in, 1, &y, 1, &out);
}
static OrtStatus *configure(const OrtApi *a, OrtRunOptions *o, const char *key, const char *value) { return a->AddRunConfigEntry(o, key, value); }
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Place is memory that tensors lie in: the host's, or that of a device.
type Place struct {
	library   *Library
	info      *C.OrtMemoryInfo
	allocator *C.OrtAllocator // nil for the host
}

// Host is the host's memory.
func (l *Library) Host() (*Place, error) {
	p := &Place{library: l}
	return p, l.status(C.host_info(l.api, &p.info))
}

// Device is the memory of device id of a provider, such as "Cuda", as an OrtSession on it allocates. The session must outlive
// the place.
func (l *Library) Device(session unsafe.Pointer, name string, id int) (*Place, error) {
	p := &Place{library: l}
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	if err := l.status(C.device_info(l.api, text, C.int(id), &p.info)); err != nil {
		return nil, err
	}
	if err := l.status(C.allocator(l.api, (*C.OrtSession)(session), p.info, &p.allocator)); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close gives the place back; memory of it must have been freed.
func (p *Place) Close() {
	if p.info != nil {
		C.release_place(p.library.api, p.info, p.allocator)
		p.info, p.allocator = nil, nil
	}
}

// Alloc returns n bytes, aligned to 64: zeros on the host, anything on a device.
func (p *Place) Alloc(n int) (unsafe.Pointer, error) {
	n = max(n, 1) // empty tensors have an address, too
	if p.allocator != nil {
		var out unsafe.Pointer
		if err := p.library.status(C.alloc(p.library.api, p.allocator, C.size_t(n), &out)); err != nil {
			return nil, fmt.Errorf("%d bytes on the device cannot be had: %w", n, err)
		}
		return out, nil
	}
	size := C.size_t((n + 63) / 64 * 64)
	out := C.aligned_alloc(64, size)
	if out == nil {
		return nil, fmt.Errorf("%d bytes cannot be had", n)
	}
	C.memset(out, 0, size)
	return out, nil
}

// Free gives memory of Alloc back.
func (p *Place) Free(data unsafe.Pointer) {
	switch {
	case data == nil:
	case p.allocator != nil:
		C.give(p.library.api, p.allocator, data)
	default:
		C.free(data)
	}
}

// Tensor lays an OrtValue over memory of the place: elements of an ONNX type, in a shape. The memory must outlive it.
func (p *Place) Tensor(data unsafe.Pointer, bytes int, typ int32, dims ...int64) (unsafe.Pointer, error) {
	var out *C.OrtValue
	err := p.library.status(C.tensor(p.library.api, p.info, data, C.size_t(bytes), (*C.int64_t)(unsafe.SliceData(dims)), C.size_t(len(dims)), C.int(typ), &out))
	return unsafe.Pointer(out), err
}

// ReleaseValue frees an OrtValue, or nothing where it is nil.
func (l *Library) ReleaseValue(v unsafe.Pointer) {
	if v != nil {
		C.release_value(l.api, (*C.OrtValue)(v))
	}
}

// FixDimension gives a symbolic dimension its value, so that a session of these OrtSessionOptions is planned with it.
func (l *Library) FixDimension(options unsafe.Pointer, name string, n int64) error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	return l.status(C.fix(l.api, (*C.OrtSessionOptions)(options), text, C.int64_t(n)))
}

// RunOne runs a session with one input x and one output y, which lies in memory that is there already.
func (l *Library) RunOne(session, x, y unsafe.Pointer) error {
	return l.status(C.run_one(l.api, (*C.OrtSession)(session), (*C.OrtValue)(x), (*C.OrtValue)(y)))
}

// ConfigureRun sets an entry of OrtRunOptions, or changes it.
func (l *Library) ConfigureRun(options unsafe.Pointer, key, value string) error {
	k, v := C.CString(key), C.CString(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(unsafe.Pointer(v))
	return l.status(C.configure(l.api, (*C.OrtRunOptions)(options), k, v))
}
