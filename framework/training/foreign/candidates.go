package foreign

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// candidate is an initialiser that may become a parameter.
type candidate struct {
	name   string
	fixed  string // why it is a constant, or ""
	values numbers
	places []place
	uses   []use
}

// use is an input of a node that reads an initialiser, maybe through Identity nodes.
type use struct {
	node *graph.Node
	at   int
	edge string // what the node reads: the initialiser, or what the last Identity gives
}

// numbers are float32 elements, little-endian.
type numbers []byte

func (n numbers) len() int { return len(n) / 4 }

func (n numbers) at(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(n[4*i:]))
}

func (n numbers) floats() []float32 {
	out := make([]float32, n.len())
	for i := range out {
		out[i] = n.at(i)
	}
	return out
}

// uniform tells whether all elements are equal, as those of new norms and biases are.
func (n numbers) uniform() bool {
	for i := range n.len() {
		if n.at(i) != n.at(0) {
			return false
		}
	}
	return true
}

// passes tells whether a gradient flows from a node's outputs to its input i. Whole numbers and conditions stop it by type.
func (r *reader) passes(n *graph.Node, i int) bool {
	switch graph.Key(n) {
	case "Floor", "Ceil", "Round", "Sign", "Shape", "Size", "ArgMax", "ArgMin", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf",
		"ConstantOfShape", "EyeLike", "Range", "OneHot", "NonZero":
		return false
	case "RotaryEmbedding", "com.microsoft.RotaryEmbedding", "Dropout", "Pow", "Expand", "Reshape":
		if i > 0 {
			return false
		}
	case "Cast":
		if to := graph.Type(n.IntAttr("to", 0)); !float(to) {
			return false
		}
	}
	return float(r.types[n][i])
}

// reach finds the edges that the logits depend on smoothly.
func (r *reader) reach() {
	r.reached = map[string]bool{r.ports.logits: true}
	for _, n := range slices.Backward(r.forward) {
		if !slices.ContainsFunc(n.Outputs, func(o string) bool { return r.reached[o] }) {
			continue
		}
		for i, in := range n.Inputs {
			if in != "" && r.passes(n, i) {
				r.reached[in] = true
			}
		}
	}
}

// candidates are the float tensors of more than one element that the logits depend on, in the order of their first use.
func (r *reader) candidates() ([]*candidate, error) {
	found := map[string]*candidate{}
	r.root = map[string]string{}
	var out []*candidate
	outputs := map[string]bool{}
	for _, v := range r.model.Graph.Outputs {
		outputs[v.Name] = true
	}
	live := map[*graph.Node]bool{}
	for _, n := range r.forward {
		live[n] = true
	}
	for _, n := range r.model.Graph.Nodes {
		for i, in := range n.Inputs {
			name, t := in, r.tensors[in]
			if from, ok := r.root[in]; ok {
				name, t = from, r.tensors[from]
			}
			if t == nil || !float(t.Type) || len(t.Dims) == 0 || elements(t) < 2 {
				continue
			}
			c := found[name]
			if c == nil {
				c = &candidate{places: []place{{tensor: t}}}
				found[name] = c
			}
			if n.Op == "Identity" && n.Domain == "" && !outputs[n.Outputs[0]] {
				r.root[n.Outputs[0]] = name
				continue
			}
			c.uses = append(c.uses, use{n, i, in})
			if live[n] && r.reached[in] && r.passes(n, i) && !slices.Contains(out, c) {
				if t.Type != graph.Float32 {
					return nil, fail(n, "its weights %q hold %s; expected float32, or float16 behind a Cast; export the model in float32 and train that", t.Name, t.Type)
				}
				out = append(out, c)
			}
		}
	}
	for _, c := range out {
		t := c.places[0].tensor
		if c.values = t.Raw; t.Raw == nil {
			c.values = t.Floats
		}
		if int64(len(c.values)) != 4*elements(t) {
			return nil, fmt.Errorf("tensor %q: %d bytes of data; expected %d for its shape %v, the file is damaged", t.Name, len(c.values), 4*elements(t), t.Dims)
		}
	}
	r.constants(out)
	return out, nil
}
