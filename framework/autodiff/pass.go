package autodiff

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// A rule writes the cotangents of a node's inputs, given those of its outputs.
type rule func(c *vjp)

// rules is the table of all operators that can be differentiated, by [graph.Key]. The other files fill it.
var rules = map[string]rule{}

func on(f rule, keys ...string) {
	for _, k := range keys {
		rules[k] = f
	}
}

// stops are the operators with float results through which nothing flows: they are constant, or constant almost everywhere.
// Integer and boolean results stop in any case.
var stops = map[string]bool{"mdm.StopGradient": true, "Floor": true, "Ceil": true, "Round": true, "Sign": true, "ConstantOfShape": true,
	"RandomUniformLike": true, "RandomNormalLike": true, "EyeLike": true, "Range": true}

// pass is one reverse pass over a graph.
type pass struct {
	*graph.Builder
	o       Options
	nodes   []*graph.Node            // of the forward pass
	need    map[string]bool          // values that depend on those to differentiate by
	readers map[string][]*graph.Node // of the forward pass, by value
	pending map[string][]graph.Value // cotangents to add up, by value
	again   map[string]graph.Value   // probabilities that were recomputed, by value
	ones    map[string]graph.Value   // rows of ones, by length
}

func newPass(b *graph.Builder, wrt []graph.Value, o Options) *pass {
	p := &pass{Builder: b, o: o, nodes: slices.Clone(b.Nodes()), need: map[string]bool{}, readers: map[string][]*graph.Node{},
		pending: map[string][]graph.Value{}, again: map[string]graph.Value{}, ones: map[string]graph.Value{}}
	for _, w := range wrt {
		p.need[w.Name()] = true
	}
	for _, n := range p.nodes {
		needed := false
		for i, name := range n.Inputs {
			if !slices.Contains(n.Inputs[:i], name) {
				p.readers[name] = append(p.readers[name], n)
			}
			needed = needed || p.need[name]
		}
		if !needed || stops[graph.Key(n)] {
			continue
		}
		for i, name := range n.Outputs {
			if name != "" && isFloat(b.Out(n, i)) {
				p.need[name] = true
			}
		}
	}
	return p
}

// total adds up the cotangents that came for v; the zero Value where none came.
func (p *pass) total(v graph.Value) graph.Value {
	parts := p.pending[v.Name()]
	if len(parts) == 0 {
		return graph.Value{}
	}
	sum := parts[0]
	for _, part := range parts[1:] {
		sum = p.Refine(p.Add(sum, part), v.Shape()...)
	}
	p.pending[v.Name()] = []graph.Value{sum}
	return sum
}

// walk visits the nodes between the loss and the values to differentiate by, last one first.
func (p *pass) walk() error {
	for _, n := range slices.Backward(p.nodes) {
		c := &vjp{pass: p, node: n}
		if !c.gather() {
			continue
		}
		f, ok := rules[graph.Key(n)]
		switch {
		case graph.Key(n) == "mdm.Network":
			c.unsupported("a call of the network %q stands in the graph; expand it before differentiating", n.TextAttr("name", ""))
		case !ok:
			c.unsupported("this operator has no gradient rule; write the model with operators that have one, or stop the gradient before it (mdm.StopGradient)")
		default:
			done := p.Scope(n.Name)
			f(c)
			done()
		}
		if err := c.spread(); err != nil {
			return err
		}
	}
	return nil
}

// vjp is one node on its way through its rule.
type vjp struct {
	*pass
	node *graph.Node
	x, y []graph.Value // inputs and outputs
	dy   []graph.Value // cotangents of the outputs, the zero Value where none came
	want []bool        // inputs whose cotangents are needed
	dx   []graph.Value // filled by the rule
	err  error
}

// gather collects what the rule reads, and tells whether there is something to do.
func (c *vjp) gather() bool {
	if stops[graph.Key(c.node)] {
		return false
	}
	came, wanted := false, false
	for _, name := range c.node.Outputs {
		came = came || len(c.pending[name]) > 0
	}
	for i := range c.node.Inputs {
		c.x = append(c.x, c.In(c.node, i))
		c.want = append(c.want, c.need[c.node.Inputs[i]])
		wanted = wanted || c.want[i]
	}
	if !came || !wanted {
		return false
	}
	for i := range c.node.Outputs {
		c.y = append(c.y, c.Out(c.node, i))
		c.dy = append(c.dy, c.total(c.y[i]))
	}
	c.dx = make([]graph.Value, len(c.x))
	return true
}

// spread hands the cotangents on to the values that the node read.
func (c *vjp) spread() error {
	for i, d := range c.dx {
		if c.err != nil || c.Err() != nil || !c.want[i] {
			continue
		}
		if !d.Given() {
			c.unsupported("its input %d, %s, has no gradient rule; keep what is trained out of it, or stop the gradient before it (mdm.StopGradient)", i, c.x[i])
			continue
		}
		if c.x[i].HasRank() {
			c.Refine(d, c.x[i].Shape()...)
		}
		c.pending[c.x[i].Name()] = append(c.pending[c.x[i].Name()], d)
	}
	if c.err == nil && c.Err() != nil {
		c.unsupported("its gradient cannot be written")
	}
	return c.err
}

// unsupported says what the rule cannot do and what to do about it. The first one counts.
func (c *vjp) unsupported(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("graph %s: node %s (%s): %s", c.Name(), c.node.Name, graph.Key(c.node), fmt.Sprintf(format, args...))
	}
}

// ranked tells whether the ranks of the given values are known, and says so where they are not.
func (c *vjp) ranked(vs ...graph.Value) bool {
	for _, v := range vs {
		if v.Given() && !v.HasRank() {
			c.unsupported("the rank of %s is not known before the run; export the model with shapes that can be inferred", v)
			return false
		}
	}
	return true
}

// in is input i, the zero Value where it is left out.
func (c *vjp) in(i int) graph.Value { return c.In(c.node, i) }

// wants tells whether the cotangent of input i is needed.
func (c *vjp) wants(i int) bool { return i < len(c.want) && c.want[i] }

// num is a scalar constant of the type of the node's first output.
func (c *vjp) num(v float64) graph.Value { return c.Scalar(v, c.y[0]) }
