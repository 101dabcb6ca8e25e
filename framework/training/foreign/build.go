package foreign

import (
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/framework/training/artifact"
)

// Signature is input_ids [B, L], attention_mask [B, L] (1 = real) and timesteps [B], as far as the file has them, to logits
// [B, L, V]. Ids and mask are int64 whatever the file takes. B and L are numbers where the file fixes them.
func (n *Network) Signature() graph.Signature {
	return graph.Signature{Inputs: slices.Clone(n.signature.Inputs), Outputs: slices.Clone(n.signature.Outputs)}
}

// Opset is the version of ONNX's operators in the file. Training graphs must have the same one.
func (n *Network) Opset() int64 { return n.model.Opset("") }

// Parameters are the trained tensors in the order in which the network uses them. Weight decay is for those with two dimensions
// or more. Matrices have the orientation of the file: exporters store most of PyTorch's as [in, out].
func (n *Network) Parameters() []artifact.Parameter {
	out := make([]artifact.Parameter, len(n.params))
	for i, p := range n.params {
		out[i] = p.Parameter
		out[i].Shape = slices.Clone(p.Shape)
	}
	return out
}

// Values are the file's own values, in the order of [Network.Parameters], each time new.
func (n *Network) Values() [][]float32 {
	out := make([][]float32, len(n.params))
	for i, p := range n.params {
		out[i] = payload(p.places[0].tensor).floats()
	}
	return out
}

func payload(t *graph.Tensor) numbers {
	if t.Raw != nil {
		return t.Raw
	}
	return t.Floats
}

// Build implements [artifact.Network]. attention_mask may be left out: all positions are real. token_type_ids are 0 and
// position_ids count from 0, unless they are given.
func (n *Network) Build(b *graph.Builder, parameters, inputs map[string]graph.Value) map[string]graph.Value {
	out := map[string]graph.Value{}
	if b.Err() != nil {
		return out
	}
	if b.Opset() != n.Opset() {
		b.Fail("network %s: it has opset %d, the graph has %d; make the graph with the network's opset", n.name, n.Opset(), b.Opset())
		return out
	}
	bind := map[string]graph.Value{}
	for _, p := range n.params {
		v, ok := parameters[p.Name]
		if !ok {
			b.Fail("network %s: the parameter %s is missing; give all of Parameters", n.name, p.Name)
			return out
		}
		for _, at := range p.places {
			if bind[at.tensor.Name] = v; at.transposed {
				bind[at.tensor.Name] = b.Transpose(v, 1, 0)
			}
		}
	}
	for _, t := range n.constants { // once in a graph, however often the network is called
		if v, ok := b.Value(t.Name); !ok {
			bind[t.Name[len(n.name)+1:]] = b.Initializer(t)
		} else if v.Content() == t {
			bind[t.Name[len(n.name)+1:]] = v
		}
	}
	for _, v := range n.ports.inputs {
		if bind[v.Name] = n.feed(b, v, inputs); b.Err() != nil {
			return out
		}
	}
	out["logits"] = b.Replay(n.forward, bind, nil)[n.ports.logits]
	return out
}

// feed is the value behind an input of the file.
func (n *Network) feed(b *graph.Builder, v *graph.ValueInfo, inputs map[string]graph.Value) graph.Value {
	given, ids := inputs[v.Name], inputs["input_ids"]
	if !given.Given() {
		switch v.Name {
		case "attention_mask":
			given = b.ExpandLike(b.Int(1), ids)
		case "token_type_ids":
			given = b.Zeros(ids)
		case "position_ids":
			if given = n.positions(b, ids); !v.HasRank || v.Shape[0].Size != 1 {
				given = b.ExpandLike(given, ids)
			}
		default:
			return b.Fail("network %s: the input %s is missing; give %s", n.name, v.Name, v.Type)
		}
	}
	if v.Name == "timesteps" && given.Rank() == 1 && v.HasRank && len(v.Shape) == 2 {
		given = b.Unsqueeze(given, 1)
	}
	if given.Type() != v.Type {
		given = b.Cast(given, v.Type)
	}
	return given
}

// positions is 0, 1, ..., L-1 as [1, L].
func (n *Network) positions(b *graph.Builder, ids graph.Value) graph.Value {
	if l := ids.Dim(1); l.IsKnown() {
		all := make([]int64, l.Size)
		for i := range all {
			all[i] = int64(i)
		}
		return b.Constant(graph.OfInts("", []int64{1, l.Size}, all))
	}
	size := b.Slice(b.Shape(ids), 0, 1, 2)
	return b.Refine(b.Unsqueeze(b.Range(b.Squeeze(size, 0)), 0), graph.Known(1), ids.Dim(1))
}
