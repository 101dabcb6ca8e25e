// Package run computes graphs with ONNX Runtime for the tests of autodiff.
package run

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/onnx"
)

var start = sync.OnceValue(func() error {
	path, err := onnx.FindLibrary("")
	if err != nil {
		return err
	}
	ort.SetSharedLibraryPath(path)
	if err := os.Setenv("ORT_DISABLE_TELEMETRY", "1"); err != nil {
		return err
	}
	return ort.InitializeEnvironment(ort.WithLogLevelError())
})

// Session is a model that can be run.
type Session struct {
	session *ort.DynamicAdvancedSession
	inputs  []string
	outputs []string
	scalars []bool // outputs that the binding does not make by itself
}

// Open makes a session with so many threads.
func Open(m *graph.Model, threads int) (*Session, error) {
	if err := start(); err != nil {
		return nil, err
	}
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Destroy() }()
	if err := o.SetIntraOpNumThreads(threads); err != nil {
		return nil, err
	}
	if err := o.SetMemPattern(false); err != nil {
		return nil, err
	}
	if err := o.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"); err != nil {
		return nil, err
	}
	s := &Session{}
	for _, v := range m.Graph.Feeds() {
		s.inputs = append(s.inputs, v.Name)
	}
	for _, v := range m.Graph.Outputs {
		s.outputs = append(s.outputs, v.Name)
		s.scalars = append(s.scalars, v.HasRank && len(v.Shape) == 0)
	}
	s.session, err = ort.NewDynamicAdvancedSessionWithONNXData(m.Encode(), s.inputs, s.outputs, o)
	return s, err
}

// Close frees the session.
func (s *Session) Close() { _ = s.session.Destroy() }

var types = map[graph.Type]ort.TensorElementDataType{graph.Float32: ort.TensorElementDataTypeFloat, graph.Float64: ort.TensorElementDataTypeDouble,
	graph.Int64: ort.TensorElementDataTypeInt64, graph.Int32: ort.TensorElementDataTypeInt32, graph.Bool: ort.TensorElementDataTypeBool}

// Run computes all outputs, which must be of float32.
func (s *Session) Run(feeds map[string]*graph.Tensor) (map[string]*graph.Tensor, error) {
	var keep runtime.Pinner
	defer keep.Unpin()
	in := make([]ort.Value, len(s.inputs))
	for i, name := range s.inputs {
		t := feeds[name]
		if t == nil {
			return nil, fmt.Errorf("input %q: no value", name)
		}
		v, err := value(t, &keep)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", name, err)
		}
		defer func() { _ = v.Destroy() }()
		in[i] = v
	}
	out := make([]ort.Value, len(s.outputs))
	for i := range out {
		if s.scalars[i] {
			v, err := ort.NewScalar(float32(0))
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
	}
	if err := s.session.Run(in, out); err != nil {
		return nil, err
	}
	result := map[string]*graph.Tensor{}
	for i, name := range s.outputs {
		switch v := out[i].(type) {
		case *ort.Tensor[float32]:
			result[name] = graph.OfFloats(name, append([]int64{}, v.GetShape()...), v.GetData())
		case *ort.Scalar[float32]:
			result[name] = graph.OfFloats(name, nil, []float32{v.GetData()})
		default:
			return nil, fmt.Errorf("output %q: a %T; expected float32", name, out[i])
		}
		_ = out[i].Destroy()
	}
	return result, nil
}

// value is a tensor of the runtime over a copy of the data. The binding makes scalars in another way.
func value(t *graph.Tensor, keep *runtime.Pinner) (ort.Value, error) {
	if len(t.Dims) == 0 && t.Type == graph.Float32 {
		return ort.NewScalar(math.Float32frombits(binary.LittleEndian.Uint32(t.Raw)))
	}
	raw := append([]byte{}, t.Raw...)
	if len(raw) > 0 {
		keep.Pin(unsafe.SliceData(raw))
	}
	return ort.NewCustomDataTensor(ort.NewShape(t.Dims...), raw, types[t.Type])
}
