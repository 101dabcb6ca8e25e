package onnx

import (
	"reflect"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

// The Go wrapper keeps the C API's objects to itself. Each of its structs begins with the one pointer that is read here;
// init refuses a wrapper that is laid out otherwise.

// raw returns the OrtSessionOptions.
func raw(o *ort.SessionOptions) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(o)) }

// rawRun returns the OrtRunOptions.
func rawRun(o *ort.RunOptions) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(o)) }

// rawSession returns the OrtSession.
func rawSession(s *ort.DynamicAdvancedSession) unsafe.Pointer {
	return *(*unsafe.Pointer)(*(*unsafe.Pointer)(unsafe.Pointer(s)))
}

func init() {
	for _, t := range []struct {
		of    reflect.Type
		first string
	}{
		{reflect.TypeFor[ort.SessionOptions](), "o"}, {reflect.TypeFor[ort.RunOptions](), "o"}, {reflect.TypeFor[ort.DynamicAdvancedSession](), "s"},
		{reflect.TypeFor[ort.AdvancedSession](), "ortSession"},
	} {
		if f := t.of.Field(0); f.Name != t.first || f.Type.Kind() != reflect.Pointer {
			panic("runtimes/onnx: onnxruntime_go's " + t.of.Name() + " no longer begins with the C pointer " + t.first + "; adapt raw.go")
		}
	}
}
