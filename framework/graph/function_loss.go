package graph

import "fmt"

func init() {
	define("CrossEntropy", inferCrossEntropy, body{inputs: []string{"logits", "targets"}, outputs: []string{"nll", "lse"},
		write: func(b *Builder, in []Value) []Value {
			top := b.ReduceMax(in[0], true, -1)
			rest := b.Log(b.ReduceSum(b.Exp(b.Sub(in[0], top)), true, -1)) // [N, 1]
			hit := b.GatherElements(in[0], b.column(in[1]), -1)
			return []Value{b.flat(b.Add(rest, b.Sub(top, hit))), b.flat(b.Add(rest, top))}
		}})
	define("CrossEntropyGrad", inferGrads(1), body{inputs: []string{"dnll", "logits", "targets", "lse"}, outputs: []string{"dlogits"},
		write: func(b *Builder, in []Value) []Value {
			d := b.column(in[0])
			p := b.Exp(b.Sub(in[1], b.column(in[3]))) // softmax, [N, V]
			return []Value{b.ScatterAdd(b.Mul(p, d), b.column(in[2]), b.Neg(d), -1)}
		}})
}

// column is [N] as [N, 1].
func (b *Builder) column(x Value) Value { return b.Op("Reshape", nil, x, b.Ints(-1, 1)) }

// flat is [N, 1] as [N].
func (b *Builder) flat(x Value) Value { return b.Op("Reshape", nil, x, b.Ints(-1)) }

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
	rows, flat := b.Flat2(logits), targets
	if targets.Rank() != 1 {
		flat = b.Reshape(targets, unknown)
	}
	nll := b.OpN("mdm.CrossEntropy", 2, nil, rows, flat)[0]
	return b.ReshapeLike(nll, targets)
}
