package capi

/*
#include <stdlib.h>
#include "openvino.h"
*/
import "C"

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"unsafe"
)

// Session is a model on a device, and the one request that runs it. The goroutine that waits for a run is parked like one that waits
// for the network: OpenVINO's threads do the work, and the last writes into a pipe.
type Session struct {
	library *Library
	session *C.mdm_ov_session
	names   map[string]*C.char
	done    *os.File
	byte    [1]byte
}

// Source is an ONNX model: its bytes, or the path of its file.
type Source struct {
	Bytes []byte
	Path  string
}

// NewSession compiles the model for the device with these properties. names are those of its
// inputs and outputs.
func (l *Library) NewSession(from Source, device string, properties map[string]string, names []string) (*Session, error) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return nil, fmt.Errorf("a pipe for the runtime's thread: %w", err)
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	s := &Session{library: l, session: (*C.mdm_ov_session)(C.calloc(1, C.size_t(unsafe.Sizeof(C.mdm_ov_session{})))), names: map[string]*C.char{}}
	s.session.api, s.session.done = l.api, C.int(ends[1])
	err := syscall.SetNonblock(ends[0], true)
	s.done = os.NewFile(uintptr(ends[0]), "runtime thread")
	if err == nil {
		err = s.open(from, device, properties)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	for _, name := range names {
		s.names[name] = C.CString(name)
	}
	return s, nil
}

func (s *Session) open(from Source, device string, properties map[string]string) error {
	keys := slices.Sorted(maps.Keys(properties))
	texts := cStrings(append(keys, from.Path, device)...)
	defer free(texts)
	values := make([]*C.char, len(keys))
	for i, key := range keys {
		values[i] = C.CString(properties[key])
	}
	defer free(values)
	list := (*C.ov_property)(C.calloc(C.size_t(len(keys)+1), C.size_t(unsafe.Sizeof(C.ov_property{}))))
	defer C.free(unsafe.Pointer(list))
	all := unsafe.Slice(list, len(keys))
	for i := range all {
		all[i].key, all[i].value = texts[i], unsafe.Pointer(values[i])
	}
	return s.library.try(func() C.int {
		return C.mdm_ov_open(s.session, s.library.core, (*C.char)(unsafe.Pointer(unsafe.SliceData(from.Bytes))), C.size_t(len(from.Bytes)),
			texts[len(keys)], texts[len(keys)+1], list, C.size_t(len(keys)))
	})
}

// Set gives the request the tensor that it reads or writes under a name, until it is given another. Names of other values are for nothing.
func (s *Session) Set(name string, t Tensor) error {
	if s.names[name] == nil {
		return nil
	}
	return s.library.try(func() C.int { return C.mdm_ov_set(s.session, s.names[name], t.tensor) })
}

// Start begins a run, which Wait ends.
func (s *Session) Start() error {
	return s.library.try(func() C.int { return C.mdm_ov_start(s.session) })
}

// Wait returns when the run is over, with its error.
func (s *Session) Wait() error {
	if _, err := s.done.Read(s.byte[:]); err != nil {
		return fmt.Errorf("the runtime's thread does not answer: %w", err)
	}
	return s.library.try(func() C.int { return C.mdm_ov_wait(s.session) })
}

// Cancel ends a run on its way, between two operators. It may be called from any goroutine before Close.
func (s *Session) Cancel() { C.mdm_ov_cancel(s.session) }

// Close frees the session, no run of which may be on its way.
func (s *Session) Close() {
	C.mdm_ov_close(s.session)
	C.free(unsafe.Pointer(s.session))
	_ = s.done.Close()
	for _, name := range s.names {
		C.free(unsafe.Pointer(name))
	}
}
