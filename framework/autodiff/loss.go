package autodiff

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() { on(crossEntropy, "mdm.CrossEntropy") }

// crossEntropy: the gradient of -log softmax(z)_t by z is softmax(z) - [t]: two passes over the logits, no one-hot rows. The
// log-sum-exp comes from the forward node.
func crossEntropy(c *vjp) {
	logits, targets := c.x[0], c.x[1]
	c.Extend(c.node, 2)
	lse := c.Out(c.node, 1)
	dnll, dlse := c.dy[0], graph.Value{}
	if len(c.dy) > 1 {
		dlse = c.dy[1]
	}
	column := func(v graph.Value) graph.Value { return c.Unsqueeze(v, -1) }
	if dnll.Given() && !dlse.Given() && c.o.Kernels && logits.Type() == graph.Float32 {
		c.dx[0] = c.Op("mdm.CrossEntropyGrad", nil, dnll, logits, targets, lse)
		return
	}
	sum := dnll
	switch {
	case !dnll.Given():
		sum = dlse
	case dlse.Given():
		sum = c.Add(dnll, dlse)
	}
	d := c.Mul(c.Exp(c.Sub(logits, column(lse))), column(sum))
	if dnll.Given() {
		d = c.ScatterAdd(d, column(targets), column(c.Neg(dnll)), -1)
	}
	c.dx[0] = d
}
