package graph

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// The framework's own operators, in the domain mdm. Each is a function of stock operators, written into the models that use it, so
// that every ONNX Runtime runs them, on every provider. Where the host registers a kernel of the same name (runtimes/onnx,
// CPU), the runtime takes the kernel instead.

// body is an operator written with others: it reads the inputs and returns the outputs.
type body struct {
	inputs     []string
	outputs    []string
	attributes []*Attribute // with their defaults
	write      func(b *Builder, in []Value) []Value
}

// functions holds the bodies by key, such as "mdm.GeluGrad".
var functions = map[string]body{}

// define makes an operator of the framework known: its function and its inference.
func define(name string, infer inference, f body) {
	functions[Domain+"."+name] = f
	register(infer, Domain+"."+name)
}

// addFunctions writes the functions that the used operators call into the model.
func (b *Builder) addFunctions(m *Model, used map[string]bool) error {
	for _, key := range slices.Sorted(maps.Keys(used)) {
		if f, foreign := b.functions[key]; foreign {
			m.Functions = append(m.Functions, f)
			continue
		}
		f, ok := functions[key]
		if !ok {
			continue
		}
		w := &Builder{name: key, opset: b.opset, values: map[string]*info{}, producer: map[string]*Node{}, constants: map[string]Value{},
			functions: map[string]*Function{}, opsets: map[string]int64{}, counts: map[string]int{}, function: true}
		in := make([]Value, len(f.inputs))
		for i, name := range f.inputs {
			in[i] = w.put(name, info{typ: Float32})
		}
		out := f.write(w, in)
		if w.err != nil {
			return fmt.Errorf("function %s: %w", key, w.err)
		}
		rename := map[string]string{}
		for i, v := range out {
			rename[v.name] = f.outputs[i]
		}
		fn := &Function{Domain: Domain, Name: key[len(Domain)+1:], Inputs: f.inputs, Outputs: f.outputs, Defaults: f.attributes, Opsets: []Opset{{"", b.opset}}}
		for _, n := range w.nodes {
			fn.Nodes = append(fn.Nodes, renamed(n, rename))
		}
		m.Functions = append(m.Functions, fn)
	}
	return nil
}

func init() {
	functions["mdm.StopGradient"] = body{inputs: []string{"x"}, outputs: []string{"y"},
		write: func(b *Builder, in []Value) []Value { return []Value{b.Identity(in[0])} }}
	functions["mdm.Silu"] = body{inputs: []string{"x"}, outputs: []string{"y"},
		write: func(b *Builder, in []Value) []Value { return []Value{b.Mul(in[0], b.Sigmoid(in[0]))} }}
	define("SiluGrad", inferGrads(1), body{inputs: []string{"dy", "x"}, outputs: []string{"dx"}, write: func(b *Builder, in []Value) []Value {
		s := b.Sigmoid(in[1])
		y := b.Mul(in[1], s)
		return []Value{b.Mul(in[0], b.Add(s, b.Sub(y, b.Mul(y, s))))}
	}})
	define("SwiGLU", inferGrads(0), body{inputs: []string{"u", "v"}, outputs: []string{"y"}, write: func(b *Builder, in []Value) []Value {
		return []Value{b.Mul(b.Mul(in[0], b.Sigmoid(in[0])), in[1])}
	}})
	define("SwiGLUGrad", inferGrads(1, 2), body{inputs: []string{"dy", "u", "v"}, outputs: []string{"du", "dv"}, write: func(b *Builder, in []Value) []Value {
		s := b.Sigmoid(in[1])
		y := b.Mul(in[1], s)
		return []Value{b.Mul(b.Mul(in[0], in[2]), b.Add(s, b.Sub(y, b.Mul(y, s)))), b.Mul(in[0], y)}
	}})
	define("GeluGrad", inferGrads(1), body{inputs: []string{"dy", "x"}, outputs: []string{"dx"}, write: func(b *Builder, in []Value) []Value {
		// Phi(x) + x phi(x) = (1 + erf t + t (2/sqrt pi) e^(-t^2)) / 2 with t = x / sqrt 2; the factor stands in the exponent.
		t := b.Mul(in[1], b.Float(1/math.Sqrt2))
		p := b.Exp(b.Sub(b.Float(math.Log(2/math.Sqrt(math.Pi))), b.Mul(t, t)))
		u := b.Add(b.Add(b.Erf(t), b.Mul(t, p)), b.Float(1))
		return []Value{b.Mul(b.Mul(in[0], u), b.Float(0.5))}
	}})
	define("SoftmaxGrad", inferGrads(1), body{inputs: []string{"dy", "y"}, outputs: []string{"dx"}, write: func(b *Builder, in []Value) []Value {
		t := b.Mul(in[0], in[1])
		return []Value{b.Sub(t, b.Mul(in[1], b.ReduceSum(t, true, -1)))}
	}})
	define("LayerNormGrad", inferGrads(1, 2, 2), body{inputs: []string{"dy", "x", "gamma", "mean", "inv"}, outputs: []string{"dx", "dgamma", "dbeta"},
		write: func(b *Builder, in []Value) []Value {
			dy, gamma := in[0], in[2]
			hat := b.Mul(b.Sub(in[1], in[3]), in[4])
			t := b.Mul(dy, hat)
			mean := b.columnMean(gamma)
			m1, m2 := b.MatMul(dy, mean), b.MatMul(t, mean) // [..., 1]
			dx := b.Mul(b.Sub(b.Sub(b.Mul(dy, gamma), m1), b.Mul(hat, m2)), in[4])
			return []Value{dx, b.columnSum(t, gamma), b.columnSum(dy, gamma)}
		}})
	define("RMSNormGrad", inferGrads(1, 2), body{inputs: []string{"dy", "x", "gamma", "inv"}, outputs: []string{"dx", "dgamma"},
		write: func(b *Builder, in []Value) []Value {
			dy, gamma := in[0], in[2]
			hat := b.Mul(in[1], in[3])
			t := b.Mul(dy, hat)
			m2 := b.MatMul(t, b.columnMean(gamma))
			return []Value{b.Mul(b.Sub(b.Mul(dy, gamma), b.Mul(hat, m2)), in[3]), b.columnSum(t, gamma)}
		}})
	define("CrossEntropy", inferCrossEntropy, body{inputs: []string{"logits", "targets"}, outputs: []string{"nll", "lse"}, write: func(b *Builder, in []Value) []Value {
		top := b.ReduceMax(in[0], true, -1)
		lse := b.Add(b.Log(b.ReduceSum(b.Exp(b.Sub(in[0], top)), true, -1)), top) // [N, 1]
		hit := b.GatherElements(in[0], b.column(in[1]), -1)
		return []Value{b.flat(b.Sub(lse, hit)), b.flat(lse)}
	}})
	define("CrossEntropyGrad", inferGrads(1), body{inputs: []string{"dnll", "logits", "targets", "lse"}, outputs: []string{"dlogits"}, write: func(b *Builder, in []Value) []Value {
		d := b.column(in[0])
		p := b.Exp(b.Sub(in[1], b.column(in[3])))
		return []Value{b.ScatterAdd(b.Mul(p, d), b.column(in[2]), b.Neg(d), -1)}
	}})
}

// columnMean is gamma / D as a column: MatMul with it is the mean over the last axis after scaling by gamma, without a pass
// over the data of its own.
func (b *Builder) columnMean(gamma Value) Value {
	d := b.Cast(b.Op("Size", nil, gamma), Float32)
	return b.Op("Reshape", nil, b.Div(gamma, d), b.Ints(-1, 1))
}

// columnSum adds up all rows of x [..., D] to the shape of like [D]: a product with ones, which the runtime does on all
// processors, other than a sum over the first axis.
func (b *Builder) columnSum(x, like Value) Value {
	size := b.Op("Shape", nil, like)
	rows := b.Op("Reshape", nil, x, b.Concat(0, b.Ints(-1), size)) // [N, D]
	n := b.Slice(b.Op("Shape", nil, rows), 0, 0, 1)
	ones := b.Expand(b.Float(1), b.Concat(0, b.Ints(1), n)) // [1, N]
	return b.Op("Reshape", nil, b.Gemm(ones, rows, Value{}, false, false), size)
}

// column is [N] as [N, 1].
func (b *Builder) column(x Value) Value { return b.Op("Reshape", nil, x, b.Ints(-1, 1)) }

// flat is [N, 1] as [N].
func (b *Builder) flat(x Value) Value { return b.Op("Reshape", nil, x, b.Ints(-1)) }

// inferGrads gives output i the type and shape of input like[i].
func inferGrads(like ...int) inference {
	return func(c *call) error {
		for _, i := range like {
			if err := c.need(i + 1); err != nil {
				return err
			}
		}
		for i := range c.out {
			v := c.in[like[i]]
			if v.HasRank() {
				c.set(i, v.Type(), v.Shape())
			} else {
				c.unranked(i, v.Type())
			}
		}
		return nil
	}
}

func inferCrossEntropy(c *call) error {
	if err := c.need(2); err != nil {
		return err
	}
	if err := c.float(0); err != nil {
		return err
	}
	logits, targets := c.in[0], c.in[1]
	if targets.Type() != Int64 || logits.HasRank() && logits.Rank() != 2 || targets.HasRank() && targets.Rank() != 1 {
		return fmt.Errorf("logits %s and targets %s; expected logits [N, V] and int64 targets [N]", logits, targets)
	}
	for i := range c.out {
		c.set(i, logits.Type(), []Dim{logits.Dim(0)})
	}
	return nil
}

// CrossEntropy is -log softmax(logits) at the target, in nats: logits [..., V], int64 targets [...] to [...]. Logits of -Inf
// are tokens that cannot be. It is differentiated as a whole.
func (b *Builder) CrossEntropy(logits, targets Value) Value {
	if b.err != nil {
		return Value{}
	}
	nll := b.OpN("mdm.CrossEntropy", 2, nil, b.Flat2(logits), b.Reshape(targets, Volume(targets.Shape())))[0]
	return b.ReshapeLike(nll, targets)
}

// Silu is x sigmoid(x).
func (b *Builder) Silu(x Value) Value { return b.Op("mdm.Silu", nil, x) }

// SwiGLU is silu(u) v.
func (b *Builder) SwiGLU(u, v Value) Value { return b.Op("mdm.SwiGLU", nil, u, v) }
