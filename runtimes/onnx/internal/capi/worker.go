package capi

/*
#include <stdlib.h>
#include "worker.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// Worker runs one session on a thread of its own. The goroutine that waits for it is parked like one that waits for the
// network. A call into C would wait just as well, but Go's scheduler looks after a thread in C every 20 µs for some
// milliseconds, on the processor that the denoiser needs: measured, 3 to 10 % of a pass.
type Worker struct {
	library *Library
	worker  *C.mdm_worker
	done    *os.File
	byte    [1]byte
}

// NewWorker makes the worker of an OrtSession, which must outlive it.
func (l *Library) NewWorker(session unsafe.Pointer, inputs, outputs []string) (*Worker, error) {
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		return nil, fmt.Errorf("a pipe for the runtime's thread: %w", err)
	}
	for _, fd := range ends {
		syscall.CloseOnExec(fd)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil {
		return nil, fmt.Errorf("a pipe for the runtime's thread: %w", err)
	}
	w := &Worker{library: l, done: os.NewFile(uintptr(ends[0]), "runtime thread")}
	w.worker = C.mdm_worker_new(l.api, (*C.OrtSession)(session), C.int(ends[1]), cStrings(inputs), C.size_t(len(inputs)), cStrings(outputs), C.size_t(len(outputs)))
	if w.worker == nil {
		_ = w.done.Close()
		_ = syscall.Close(ends[1])
		return nil, errors.New("a thread for the runtime cannot be had; free memory or raise the limit of processes")
	}
	return w, nil
}

// cStrings returns an array of C strings that its receiver frees.
func cStrings(names []string) **C.char {
	p := (**C.char)(C.calloc(C.size_t(len(names)+1), C.size_t(unsafe.Sizeof(uintptr(0)))))
	out := unsafe.Slice(p, len(names))
	for i, s := range names {
		out[i] = C.CString(s)
	}
	return p
}

// Run runs the session with OrtRunOptions and OrtValues, in the order of the names, all of them in C memory. One run at
// a time.
func (w *Worker) Run(options unsafe.Pointer, inputs, outputs []unsafe.Pointer) error {
	C.mdm_worker_start(w.worker, (*C.OrtRunOptions)(options), unsafe.SliceData(inputs), unsafe.SliceData(outputs))
	if _, err := w.done.Read(w.byte[:]); err != nil {
		return fmt.Errorf("the runtime's thread does not answer: %w", err)
	}
	return w.library.status(w.worker.status)
}

// Close ends the thread.
func (w *Worker) Close() {
	C.mdm_worker_free(w.worker)
	_ = w.done.Close()
}
