package foreign

import "github.com/mdmhost/mdmhost/framework/graph"

// Columns tells of every parameter whether it is a matrix that stands as [in, out], as exporters store most of PyTorch's [out, in]: those
// that a MatMul, or a Gemm that does not transpose them, multiplies with from the left. The order is that of [Network.Parameters].
func (n *Network) Columns() []bool {
	same := map[string]string{} // what Identity nodes pass on
	reads := map[string]bool{}
	for _, node := range n.forward.Graph.Nodes {
		if node.Op == "Identity" && node.Domain == "" && len(node.Inputs) == 1 {
			same[node.Outputs[0]] = root(same, node.Inputs[0])
		}
		if len(node.Inputs) < 2 {
			continue
		}
		switch in := root(same, node.Inputs[1]); graph.Key(node) {
		case "MatMul":
			reads[in] = true
		case "Gemm", "com.microsoft.FusedMatMul":
			reads[in] = node.IntAttr("transB", 0) == 0
		}
	}
	out := make([]bool, len(n.params))
	for i, p := range n.params {
		out[i] = len(p.Shape) == 2 && reads[p.places[0].tensor.Name] && !p.places[0].transposed
	}
	return out
}

func root(same map[string]string, name string) string {
	if from, ok := same[name]; ok {
		return from
	}
	return name
}
