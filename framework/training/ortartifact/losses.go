package ortartifact

import (
	"github.com/mdmhost/mdmhost/framework/graph"
)

func init() {
	functions["SoftmaxCrossEntropyLossGrad"] = crossEntropyGrad
}

// crossEntropyGrad takes dy, log p [N, C, ...], labels [N, ...] and weights [C] to (p - onehot) w dy, where w is the weight of the label, 0
// for ignored ones, and over the sum of all w for the mean.
func crossEntropyGrad(w *body) []string {
	dy, logp, labels := w.in(0), w.in(1), w.cast(w.in(2), graph.Int64)
	if w.in(4) != "" {
		return w.fail("it has a bias to add to the gradient, which a fusion put there; make the artifacts anew without fusions")
	}
	share := w.op("Add", w.op("Mul", w.cast(labels, graph.Float32), w.float(0)), w.float(1)) // [N, ...]
	safe := labels
	if ignored := w.call.Attribute("ignore_index"); ignored != nil {
		skip := w.op("Equal", labels, w.int(ignored.I))
		safe = w.op("Where", skip, w.int(0), labels)
		share = w.cast(w.op("Not", skip), graph.Float32)
	}
	if w.in(3) != "" {
		share = w.op("Mul", share, w.op("Gather", w.in(3), safe))
	}
	scale := w.op("Mul", share, dy)
	switch reduction := w.call.TextAttr("reduction", "mean"); reduction {
	case "mean":
		scale = w.op("Div", scale, w.with("ReduceSum", []*graph.Attribute{graph.Int("keepdims", 0)}, share))
	case "sum", "none":
	default:
		return w.fail("its reduction is %q; expected mean, sum or none", reduction)
	}
	class := w.ints(1)
	column := w.op("Unsqueeze", scale, class)
	p := w.op("Mul", w.op("Exp", logp), column)
	hit := w.with("ScatterElements", []*graph.Attribute{graph.Int("axis", 1), graph.String("reduction", "add")}, p, w.op("Unsqueeze", safe, class), w.op("Neg", column))
	return []string{hit}
}
