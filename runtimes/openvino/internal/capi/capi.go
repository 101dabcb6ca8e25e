// Package capi is what the runtime needs of OpenVINO's C API. The library is opened by its path when it is wanted, so that nothing
// depends on it before.
package capi

/*
#cgo CFLAGS: -O2 -Wall
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include "openvino.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// Library is a loaded OpenVINO with the object that holds its devices. It is never unloaded: its threads outlive every session.
type Library struct {
	Path    string
	Version string // such as "2026.4.1-22982-46d20ea8dba-releases/2026/4"
	api     *C.ov_api
	core    *C.ov_core
}

// Open loads libopenvino_c at path, which looks for the other libraries beside it.
func Open(path string) (*Library, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)
	if handle == nil {
		return nil, errors.New(C.GoString(C.dlerror()))
	}
	l := &Library{Path: path, api: (*C.ov_api)(C.calloc(1, C.size_t(unsafe.Sizeof(C.ov_api{}))))}
	if missing := C.mdm_ov_load(l.api, handle); missing != nil {
		C.free(unsafe.Pointer(l.api))
		C.dlclose(handle)
		return nil, fmt.Errorf("it exports no %s; it is not OpenVINO's C library, or one before 2026.0", C.GoString(missing))
	}
	var v C.ov_version
	if err := l.try(func() C.int { return C.mdm_ov_version(l.api, &v) }); err != nil {
		return nil, err
	}
	l.Version = C.GoString(v.build)
	C.mdm_ov_version_free(l.api, &v)
	return l, l.try(func() C.int { return C.mdm_ov_core(l.api, &l.core) })
}

// Devices lists the devices that can run models here, such as CPU and GPU.
func (l *Library) Devices() ([]string, error) {
	var d C.ov_devices
	if err := l.try(func() C.int { return C.mdm_ov_devices(l.api, l.core, &d) }); err != nil {
		return nil, err
	}
	defer C.mdm_ov_devices_free(l.api, &d)
	var out []string
	for _, name := range unsafe.Slice(d.names, int(d.count)) {
		out = append(out, C.GoString(name))
	}
	return out, nil
}

// Property is the text of a device's property.
func (l *Library) Property(device, key string) (string, error) {
	names := cStrings(device, key)
	defer free(names)
	var value *C.char
	if err := l.try(func() C.int { return C.mdm_ov_property(l.api, l.core, names[0], names[1], &value) }); err != nil {
		return "", err
	}
	defer C.mdm_ov_free(l.api, value)
	return C.GoString(value), nil
}

// Tensor is memory as OpenVINO has it.
type Tensor struct {
	library *Library
	tensor  *C.ov_tensor
}

// Types of numbers that tensors hold.
const (
	Float32 = C.OV_F32
	Float64 = C.OV_F64
	Int32   = C.OV_I32
	Int64   = C.OV_I64
	Uint8   = C.OV_U8
)

// NewTensor lays a tensor over memory outside the Go heap, which must outlive it.
func (l *Library) NewTensor(typ int, dims []int64, data unsafe.Pointer) (Tensor, error) {
	t := Tensor{library: l}
	err := l.try(func() C.int {
		return C.mdm_ov_tensor(l.api, C.int(typ), (*C.int64_t)(unsafe.SliceData(dims)), C.int64_t(len(dims)), data, &t.tensor)
	})
	return t, err
}

// Free gives the tensor back, not its memory.
func (t Tensor) Free() {
	if t.tensor != nil {
		C.mdm_ov_tensor_free(t.library.api, t.tensor)
	}
}

// try makes a call and returns its error, in OpenVINO's words without the places in its source. OpenVINO keeps them by thread: both calls
// must be of one.
func (l *Library) try(call func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	code := call()
	switch code {
	case C.OV_OK:
		return nil
	case C.OV_CANCELLED:
		return ErrCancelled
	}
	said := C.mdm_ov_message(l.api, code)
	defer C.free(unsafe.Pointer(said))
	return errors.New(Plain(C.GoString(said)))
}

// ErrCancelled is the error of a run that was cancelled.
var ErrCancelled = errors.New("the run was cancelled")

// longest bounds a message of OpenVINO's.
const longest = 400

// Plain takes the places in OpenVINO's source out of a message, makes one line of it, and cuts it.
func Plain(said string) string {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || line == "Summary:" || strings.HasPrefix(line, "Exception from ") || strings.HasPrefix(line, "FrontEnd API failed with ") ||
			strings.HasPrefix(line, "Check '") && strings.HasSuffix(strings.TrimSuffix(line, ":"), lineNumber(line))
	})
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(strings.TrimSpace(line), "-- ")
	}
	if len(lines) == 0 {
		lines = []string{strings.Join(strings.Fields(said), " ")}
	}
	text := []rune(strings.ToValidUTF8(strings.Join(lines, "; "), "?"))
	if len(text) > longest {
		text = append(text[:longest], []rune(" ...")...)
	}
	return string(text)
}

// lineNumber is the end ".cpp:123" of a line, or a text that ends no line.
func lineNumber(line string) string {
	line = strings.TrimSuffix(strings.TrimSpace(line), ":")
	if i := strings.LastIndex(line, "pp:"); i >= 0 && strings.Trim(line[i+3:], "0123456789") == "" {
		return line[i:]
	}
	return "\x00"
}

func cStrings(texts ...string) []*C.char {
	out := make([]*C.char, len(texts))
	for i, s := range texts {
		out[i] = C.CString(s)
	}
	return out
}

func free(texts []*C.char) {
	for _, s := range texts {
		C.free(unsafe.Pointer(s))
	}
}
