package precision

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// narrow is the number of outputs below which a product stays float32: scores, rates and small vocabularies, which cost nothing and decide
// everything.
const narrow = 16

// largest is the largest integer of a weight. Processors without VNNI instructions (x86 before 2019, some browsers) add pairs of products in 16 bits,
// where 2 * 255 * 127 does not fit: with the whole range they would give other numbers, and say nothing.
const largest = 63

// Int8 returns the model with its products with constant float32 matrices (MatMul and Gemm, the matrix also behind Identity, Transpose or
// a Cast from half precision) done in 8-bit integers. Weights are symmetric, -63 to 63, and scaled by output channel; activations are scaled by
// tensor, measured as they come, so that a row's numbers depend a little on the rows beside it:
//
//	xq, xs, xz = DynamicQuantizeLinear(x)                      one for all products that read x
//	y = Cast(MatMulInteger(xq, Wq, xz)) * (xs * ws) + bias
//
// Stock operators define that, and ONNX Runtime's CPU provider runs each product as one fused operator. Float32 stay: attention's own products,
// norms, softmax, what logits do not need, and products with fewer than 16 outputs. Tables that Gather reads are stored as float16 where they fit.
// Sums that go into norms are written with Sum, see [Residuals]. The graph is the same for the same model. Errors say that there is nothing to
// quantise, or name a weight that is not finite.
func Int8(m *graph.Model) (*graph.Model, error) {
	if err := whole(m); err != nil {
		return nil, err
	}
	q := &int8s{rewriter: newRewriter(m), activations: map[string]activation{}, weights: map[string]weight{}}
	if v := m.Opset(""); v < 11 {
		return nil, fmt.Errorf("graph %s: has opset %d, and 8-bit products need 11; export the model with opset 17 or later", m.Graph.Name, v)
	}
	matters := needed(m.Graph)
	products := 0
	for _, n := range m.Graph.Nodes {
		done, err := false, error(nil)
		if matters[n] {
			done, err = q.product(n)
		}
		if err != nil {
			return nil, fmt.Errorf("graph %s: %w", m.Graph.Name, err)
		}
		if done {
			products++
		} else {
			q.nodes = append(q.nodes, n)
		}
	}
	if products == 0 {
		return nil, fmt.Errorf("graph %s: has nothing to quantise; expected MatMul or Gemm with a constant float32 matrix of at least %d outputs, take another precision",
			m.Graph.Name, narrow)
	}
	out := q.model()
	return Residuals(tables(out)), nil
}

type int8s struct {
	*rewriter
	activations map[string]activation // by the value that was quantised
	weights     map[string]weight     // by the tensor and how it is turned
}

// activation are the names of a quantised value: uint8, its scale and its zero point.
type activation struct{ values, scale, zero string }

// weight are the names of a quantised matrix: int8 [k, n] and its scales [n].
type weight struct{ values, scale string }

// product writes a product in integers, and false where n is none that can be.
func (q *int8s) product(n *graph.Node) (bool, error) {
	gemm := n.Op == "Gemm"
	if n.Domain != "" && n.Domain != "ai.onnx" || n.Op != "MatMul" && !gemm || len(n.Inputs) < 2 {
		return false, nil
	}
	m, ok := q.sources.matrix(n.Inputs[1])
	if !ok {
		return false, nil
	}
	bias := ""
	if gemm {
		if len(n.Inputs) > 2 {
			bias = n.Inputs[2]
		}
		if n.IntAttr("transA", 0) != 0 || n.FloatAttr("alpha", 1) != 1 || bias != "" && n.FloatAttr("beta", 1) != 1 {
			return false, nil
		}
		if n.IntAttr("transB", 0) != 0 {
			m.turned, m.k, m.n = !m.turned, m.n, m.k
		}
	}
	if m.n < narrow {
		return false, nil
	}
	w, err := q.weight(m)
	if err != nil {
		return false, err
	}
	x, y := q.activation(n.Inputs[0]), n.Outputs[0]
	sum := q.add("MatMulInteger", y+"/integer", nil, x.values, w.values, x.zero)
	scale := q.add("Mul", y+"/scale", nil, x.scale, w.scale)
	float := q.add("Cast", y+"/float", []*graph.Attribute{graph.Int("to", int64(graph.Float32))}, sum)
	if bias == "" {
		q.write("Mul", y, nil, float, scale)
		return true, nil
	}
	q.write("Add", y, nil, q.add("Mul", y+"/scaled", nil, float, scale), bias)
	return true, nil
}

// activation quantises a value, once for all that read it.
func (q *int8s) activation(x string) activation {
	if a, ok := q.activations[x]; ok {
		return a
	}
	a := activation{q.fresh(x + "/uint8"), q.fresh(x + "/uint8.scale"), q.fresh(x + "/uint8.zero")}
	q.nodes = append(q.nodes, &graph.Node{Name: q.fresh("quantize/" + x), Op: "DynamicQuantizeLinear", Inputs: []string{x}, Outputs: []string{a.values, a.scale, a.zero}})
	q.activations[x] = a
	return a
}

// weight quantises a matrix, once for all layers that share it.
func (q *int8s) weight(m matrix) (weight, error) {
	key := fmt.Sprint(m.Name, m.turned)
	if w, ok := q.weights[key]; ok {
		return w, nil
	}
	values, scales, err := quantise(m)
	if err != nil {
		return weight{}, err
	}
	w := weight{q.fresh(m.Name + ".int8"), q.fresh(m.Name + ".scale")}
	q.initializers = append(q.initializers, &graph.Tensor{Name: w.values, Type: graph.Int8, Dims: []int64{int64(m.k), int64(m.n)}, Raw: values},
		graph.OfFloats(w.scale, []int64{int64(m.n)}, scales))
	q.weights[key] = w
	return w, nil
}

// needed are the nodes that matter to the logits; all where the graph has no output of that name.
func needed(g *graph.Graph) map[*graph.Node]bool {
	var outputs []string
	for _, o := range g.Outputs {
		outputs = append(outputs, o.Name)
	}
	if slices.Contains(outputs, "logits") {
		outputs = []string{"logits"}
	}
	matters := map[*graph.Node]bool{}
	for _, n := range graph.Keep(&graph.Model{Graph: g}, outputs...).Graph.Nodes {
		matters[n] = true
	}
	return matters
}
