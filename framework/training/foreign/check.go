package foreign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// hints say what to do about operators that cannot be trained.
var hints = []struct {
	operators []string
	problem   string
}{
	{[]string{"If", "Loop", "Scan", "SequenceMap"}, "control flow cannot be trained; export the model without it (torch.onnx.export traces a single branch)"},
	{[]string{"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv", "com.microsoft.MatMulNBits",
		"com.microsoft.DynamicQuantizeMatMul", "com.microsoft.MatMulIntegerToFloat", "com.microsoft.QAttention", "com.microsoft.QLinearAdd", "com.microsoft.GatherBlockQuantized"},
		"quantised models cannot be trained; train the float32 model and quantise it afterwards"},
	{[]string{"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"},
		"the model draws random numbers, so that no run could be repeated; export it in evaluation mode (model.eval())"},
}

// checkNodes refuses what cannot be trained, with better words than inference has.
func (r *reader) checkNodes() error {
	for _, n := range r.forward {
		key := graph.Key(n)
		for _, h := range hints {
			if slices.Contains(h.operators, key) {
				return fail(n, "%s", h.problem)
			}
		}
		switch {
		case slices.ContainsFunc(n.Attributes, func(a *graph.Attribute) bool { return a.G != nil || len(a.Graphs) > 0 }):
			return fail(n, "%s", hints[0].problem)
		case key == "Dropout" && !r.off(n, 2), key == "BatchNormalization" && n.IntAttr("training_mode", 0) != 0:
			return fail(n, "it is in training mode, and would draw random numbers or keep statistics of its own; export the model in evaluation mode (model.eval())")
		case n.Domain != "" && n.Domain != "ai.onnx":
			if !slices.Contains([]string{"com.microsoft.FusedMatMul", "com.microsoft.QuickGelu", "com.microsoft.FastGelu", "com.microsoft.RotaryEmbedding"}, key) {
				return fail(n, "the operator is none of ONNX's own; train the model as it was exported, before an optimiser fused its operators")
			}
		}
	}
	return nil
}

// off tells whether a boolean input is left out or known to be false.
func (r *reader) off(n *graph.Node, i int) bool {
	if i >= len(n.Inputs) || n.Inputs[i] == "" {
		return true
	}
	t := r.tensors[n.Inputs[i]]
	for _, p := range r.forward {
		if t == nil && slices.Contains(p.Outputs, n.Inputs[i]) && p.Op == "Constant" {
			if a := p.Attribute("value"); a != nil {
				t = a.T
			}
		}
	}
	return t != nil && (len(t.Raw) == 1 && t.Raw[0] == 0 || len(t.Int32s) == 1 && t.Int32s[0] == 0)
}

func fail(n *graph.Node, problem string, args ...any) error {
	return fmt.Errorf("node %s (operator %s): %s", n.Name, graph.Key(n), fmt.Sprintf(problem, args...))
}

// trace writes the graph once to learn the types of all edges. What the framework does not know fails here.
func (r *reader) trace() error {
	b := graph.NewBuilder(r.Name, r.model.Opset(""))
	r.types = map[*graph.Node][]graph.Type{}
	bind := map[string]graph.Value{}
	for _, v := range r.ports.inputs {
		shape := []graph.Dim{r.ports.rows, r.ports.length}
		if v.Name == "timesteps" && (!v.HasRank || len(v.Shape) == 1) {
			shape = shape[:1]
		} else if v.HasRank && v.Shape[0].Size == 1 || v.Name == "timesteps" {
			shape = v.Shape
		}
		bind[v.Name] = b.Input(v.Name, v.Type, shape...)
	}
	out := b.Replay(r.subgraph(), bind, func(n *graph.Node, in []graph.Value) []graph.Value {
		for _, v := range in {
			r.types[n] = append(r.types[n], v.Type())
		}
		return nil
	})
	if err := b.Err(); err != nil {
		text := err.Error()
		if i := strings.Index(text, "node "); i >= 0 { // not the line of this file
			text = text[i:]
		}
		return fmt.Errorf("%s; export the model with operators that can be trained", text)
	}
	logits := out[r.ports.logits]
	if r.width = logits.Dim(-1); !r.width.IsKnown() {
		r.width = r.ports.width
	}
	if !r.width.IsKnown() {
		return fmt.Errorf("output %s: its width is not known before the run; export the model with shapes that can be inferred", r.ports.logits)
	}
	return nil
}
