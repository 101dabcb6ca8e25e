package graph

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	ort "github.com/yalue/onnxruntime_go"
)

// TestMain loads ONNX Runtime, against which inference and functions are held.
func TestMain(m *testing.M) {
	path := os.Getenv("ONNXRUNTIME_SHARED_LIBRARY_PATH")
	if path == "" {
		if found, _ := filepath.Glob("../../third_party/ort/libonnxruntime.*"); len(found) > 0 {
			path = found[len(found)-1]
		}
	}
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		fmt.Fprintln(os.Stderr, "ONNX Runtime:", err, "; set ONNXRUNTIME_SHARED_LIBRARY_PATH")
		os.Exit(1)
	}
	code := m.Run()
	_ = ort.DestroyEnvironment()
	os.Exit(code)
}

// fatal is what testing.T and rapid.T share.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// asWritten and optimised are what the runtime may do with a graph before it runs it.
const (
	asWritten = ort.GraphOptimizationLevelDisableAll
	optimised = ort.GraphOptimizationLevelEnableAll
)

// session is a model on the real runtime.
type session struct {
	names []string
	s     *ort.DynamicAdvancedSession
}

func newSession(t fatal, level ort.GraphOptimizationLevel, m *Model) *session {
	t.Helper()
	return open(t, level, m, func(in, out []string, options *ort.SessionOptions) (*ort.DynamicAdvancedSession, error) {
		return ort.NewDynamicAdvancedSessionWithONNXData(m.Encode(), in, out, options)
	})
}

// runFile runs m, which stands in a file, once.
func runFile(t fatal, path string, m *Model, feeds ...*Tensor) []*Tensor {
	t.Helper()
	s := open(t, asWritten, m, func(in, out []string, options *ort.SessionOptions) (*ort.DynamicAdvancedSession, error) {
		return ort.NewDynamicAdvancedSession(path, in, out, options)
	})
	defer s.s.Destroy()
	return s.run(t, feeds)
}

func open(t fatal, level ort.GraphOptimizationLevel, m *Model, load func(in, out []string, options *ort.SessionOptions) (*ort.DynamicAdvancedSession, error)) *session {
	t.Helper()
	options, err := ort.NewSessionOptions()
	must(t, err)
	defer options.Destroy()
	must(t, options.SetGraphOptimizationLevel(level))
	must(t, options.SetIntraOpNumThreads(1))
	out := &session{}
	var in []string
	for _, v := range m.Graph.Inputs {
		in = append(in, v.Name)
	}
	for _, v := range m.Graph.Outputs {
		out.names = append(out.names, v.Name)
	}
	out.s, err = load(in, out.names, options)
	must(t, err)
	return out
}

func must(t fatal, err error) {
	if err != nil {
		t.Helper()
		t.Fatalf("%v", err)
	}
}

// run returns the outputs as tensors of raw data.
func (s *session) run(t fatal, feeds []*Tensor) []*Tensor {
	t.Helper()
	values, results := make([]ort.Value, len(feeds)), make([]ort.Value, len(s.names))
	for i, f := range feeds {
		v, err := ort.NewCustomDataTensor(ort.NewShape(f.Dims...), append([]byte{}, f.Raw...), ort.TensorElementDataType(f.Type))
		must(t, err)
		defer v.Destroy()
		values[i] = v
	}
	must(t, s.s.Run(values, results))
	tensors := make([]*Tensor, len(results))
	for i, v := range results {
		tensors[i] = tensorOf(t, s.names[i], v)
		must(t, v.Destroy())
	}
	return tensors
}

// runModel runs a model once.
func runModel(t fatal, level ort.GraphOptimizationLevel, m *Model, feeds ...*Tensor) []*Tensor {
	t.Helper()
	s := newSession(t, level, m)
	defer s.s.Destroy()
	return s.run(t, feeds)
}

func tensorOf(t fatal, name string, v ort.Value) *Tensor {
	out := &Tensor{Name: name, Dims: append([]int64{}, v.GetShape()...)}
	var data any
	switch v := v.(type) {
	case *ort.Tensor[float32]:
		out.Type, data = Float32, v.GetData()
	case *ort.Tensor[float64]:
		out.Type, data = Float64, v.GetData()
	case *ort.Tensor[int64]:
		out.Type, data = Int64, v.GetData()
	case *ort.Tensor[int32]:
		out.Type, data = Int32, v.GetData()
	case *ort.Tensor[uint8]:
		out.Type, data = Uint8, v.GetData()
	case *ort.Tensor[bool]:
		out.Type, data = Bool, v.GetData()
	case *ort.CustomDataTensor:
		out.Type, data = Type(v.DataType()), v.GetData()
	default:
		t.Fatalf("%s: result of type %T", name, v)
	}
	var raw bytes.Buffer
	if err := binary.Write(&raw, binary.LittleEndian, data); err != nil {
		t.Fatalf("%v", err)
	}
	out.Raw = raw.Bytes()
	return out
}

// doubles reads the elements of any tensor of numbers.
func doubles(t fatal, x *Tensor) []float64 {
	n, _ := x.elements()
	out := make([]float64, n)
	var err error
	read := func(to any) { _, err = binary.Decode(x.Raw, binary.LittleEndian, to) }
	switch x.Type {
	case Float64:
		read(out)
	case Float32:
		v := make([]float32, n)
		read(v)
		for i, f := range v {
			out[i] = float64(f)
		}
	case Int64:
		v := make([]int64, n)
		read(v)
		for i, f := range v {
			out[i] = float64(f)
		}
	default:
		t.Fatalf("%s is %s", x.Name, x.Type)
	}
	if err != nil {
		t.Fatalf("%s: %v", x.Name, err)
	}
	return out
}

// tensor makes a tensor of numbers in the given type.
func tensor(typ Type, dims []int64, v []float64) *Tensor {
	var raw []byte
	for _, f := range v {
		switch typ {
		case Float64:
			raw, _ = binary.Append(raw, binary.LittleEndian, f)
		case Float32:
			raw, _ = binary.Append(raw, binary.LittleEndian, float32(f))
		case Int64:
			raw, _ = binary.Append(raw, binary.LittleEndian, int64(f))
		case Int32:
			raw, _ = binary.Append(raw, binary.LittleEndian, int32(f))
		case Bool, Uint8:
			raw = append(raw, byte(f))
		default:
			panic(typ.String())
		}
	}
	return &Tensor{Type: typ, Dims: dims, Raw: raw}
}

// normal draws n numbers of the standard normal distribution.
func normal(r *rand.Rand, n int64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}
