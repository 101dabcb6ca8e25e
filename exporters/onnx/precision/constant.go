package precision

import (
	"math"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
)

// sources finds what is known before the run: tensors, also behind operators that only pass them on.
type sources struct {
	initial  map[string]*graph.Tensor
	producer map[string]*graph.Node
}

func newSources(g *graph.Graph) sources {
	s := sources{map[string]*graph.Tensor{}, map[string]*graph.Node{}}
	for _, t := range g.Initializers {
		s.initial[t.Name] = t
	}
	for _, v := range g.Inputs { // whose initializer is a default that callers may replace
		delete(s.initial, v.Name)
	}
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			s.producer[o] = n
		}
	}
	return s
}

// matrix is a constant [k, n], or its transpose in the file.
type matrix struct {
	*graph.Tensor
	turned bool // the tensor is [n, k]
	k, n   int
}

// matrix finds the constant float32 matrix behind a value: an initializer or Constant, as it is or behind Identity, Transpose and a Cast
// from half precision. Files share a matrix among layers that way, and store it small.
func (s sources) matrix(name string) (m matrix, ok bool) {
	typ := graph.Undefined // what the Cast that is read gives
	for range 8 {
		if t := s.tensor(name); t != nil {
			if typ == graph.Undefined {
				typ = t.Type
			}
			packed := t.Raw == nil && (t.Type != graph.Float32 || t.Floats == nil) // in a form that nobody writes for weights
			if typ != graph.Float32 || len(t.Dims) != 2 || dtypes[t.Type] == "" || packed {
				return m, false
			}
			m.Tensor, m.k, m.n = t, int(t.Dims[0]), int(t.Dims[1])
			if m.turned {
				m.k, m.n = m.n, m.k
			}
			return m, m.k > 0 && m.n > 0
		}
		n := s.producer[name]
		if n == nil || n.Domain != "" && n.Domain != "ai.onnx" || len(n.Inputs) != 1 {
			return m, false
		}
		switch n.Op {
		case "Identity":
		case "Cast":
			if typ == graph.Undefined {
				typ = graph.Type(n.IntAttr("to", 0))
			}
		case "Transpose": // of a matrix: the one permutation that does something is the default
			if perm := n.IntsAttr("perm"); len(perm) == 0 || perm[0] == 1 {
				m.turned = !m.turned
			}
		default:
			return m, false
		}
		name = n.Inputs[0]
	}
	return m, false
}

// tensor is the initializer or the Constant of that name, or nil.
func (s sources) tensor(name string) *graph.Tensor {
	if t := s.initial[name]; t != nil {
		return t
	}
	if n := s.producer[name]; n != nil && n.Op == "Constant" && n.Domain == "" {
		if t, err := graph.ConstantTensor(n); err == nil {
			named := *t
			named.Name = name
			return &named
		}
	}
	return nil
}

var dtypes = map[graph.Type]safetensors.DType{graph.Float32: safetensors.F32, graph.Float16: safetensors.F16, graph.BFloat16: safetensors.BF16}

// floats are the elements of a tensor of [dtypes], in the order of the file.
func floats(t *graph.Tensor) ([]float32, error) {
	raw := t.Raw
	if raw == nil && t.Type == graph.Float32 {
		raw = t.Floats // packed little-endian numbers, too
	}
	return safetensors.Tensor{Name: t.Name, DType: dtypes[t.Type], Shape: t.Dims, Data: raw}.Float32s()
}

// finite tells whether x is a number.
func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
