package gguf

import (
	"fmt"
	"slices"

	"github.com/mdmhost/mdmhost/exporters"
	"github.com/mdmhost/mdmhost/framework/model/safetensors"
	"github.com/mdmhost/mdmhost/framework/network"
)

// Architectures of llama.cpp.
const (
	llada = "llada" // rope turns neighbours: rows of q and k are permuted
	dream = "dream" // rope turns halves, as ours does; heads together are as wide as the network
)

// architecture is the one that a network is written as. llama.cpp reads biases of q, k and v in both, so that a network such as Dream whose
// heads are wider goes as llada.
func architecture(c network.Config) string {
	if (c.QKVBias || c.LogitsShift) && c.Heads*c.HeadSize() == c.HiddenSize {
		return dream
	}
	return llada
}

// metadata is all but the vocabulary.
func metadata(s *exporters.Source, p precision) []entry {
	c := *s.Config
	arch := architecture(c)
	key := func(name string) string { return arch + "." + name }
	n := func(x int) uint32 { return uint32(x) }
	return []entry{
		{"general.architecture", arch},
		{"general.name", s.Name},
		{"general.file_type", p.file},
		{key("vocab_size"), n(c.VocabSize)},
		{key("context_length"), n(c.MaxPositions)},
		{key("embedding_length"), n(c.HiddenSize)},
		{key("block_count"), n(c.Layers)},
		{key("feed_forward_length"), n(c.Intermediate)},
		{key("attention.head_count"), n(c.Heads)},
		{key("attention.head_count_kv"), n(c.KeyHeads())},
		{key("attention.key_length"), n(c.HeadSize())},
		{key("attention.value_length"), n(c.HeadSize())},
		{key("attention.layer_norm_rms_epsilon"), float32(c.NormEps)},
		{key("attention.causal"), false},
		{key("rope.dimension_count"), n(c.HeadSize())},
		{key("rope.freq_base"), float32(c.RopeBase)},
		{"diffusion.shift_logits", c.LogitsShift}, // llama-diffusion-cli shifts where the key is not there
	}
}

// tensor is a parameter under llama.cpp's name.
type tensor struct {
	name     string
	shape    []int64
	values   []float32
	heads    int // above 0: rows of each head are permuted, halves to neighbours
	elements func() (safetensors.Tensor, error)
	p        precision
}

// names are llama.cpp's, of what stands in each layer.
var names = map[string]string{
	"attention.norm": "attn_norm", "attention.q": "attn_q", "attention.k": "attn_k", "attention.v": "attn_v", "attention.output": "attn_output",
	"mlp.norm": "ffn_norm", "mlp.gate": "ffn_gate", "mlp.up": "ffn_up", "mlp.down": "ffn_down",
}

// tensors are the parameters of a network that Check passes, in llama.cpp's order.
func tensors(c network.Config, values network.Values, p precision) (out []tensor) {
	shapes := map[string][]int64{}
	for _, q := range network.Params(c) {
		shapes[q.Name] = q.Shape
	}
	add := func(name, own string, heads int) {
		shape, is := shapes[own]
		if !is {
			return
		}
		t := tensor{name: name, shape: shape, values: values[own], heads: heads, p: p}
		t.elements = func() (safetensors.Tensor, error) {
			v := t.values
			if t.heads > 0 {
				v = neighbours(v, t.heads, int(t.shape[0])/t.heads)
			}
			return safetensors.Of(t.name, t.shape, v).To(t.dtype())
		}
		out = append(out, t)
	}
	permuted := func(heads int) int {
		if architecture(c) == llada {
			return heads
		}
		return 0
	}
	add("token_embd.weight", "embeddings.tokens", 0)
	for i := range c.Layers {
		for _, part := range []string{"attention.norm", "attention.q", "attention.k", "attention.v", "attention.output", "mlp.norm", "mlp.gate", "mlp.up", "mlp.down"} {
			heads := map[string]int{"attention.q": permuted(c.Heads), "attention.k": permuted(c.KeyHeads())}[part]
			for _, kind := range []string{"weight", "bias"} {
				add(fmt.Sprintf("blk.%d.%s.%s", i, names[part], kind), fmt.Sprintf("layers.%d.%s.%s", i, part, kind), heads)
			}
		}
	}
	add("output_norm.weight", "norm.weight", 0)
	add("output.weight", "head.weight", 0) // tied networks have none, and llama.cpp takes token_embd
	return out
}

// dtype is that of the elements in the file: vectors are float32.
func (t tensor) dtype() safetensors.DType {
	if len(t.shape) < 2 {
		return safetensors.F32
	}
	return t.p.dtype
}

// kind is the ggml_type.
func (t tensor) kind() uint32 {
	if len(t.shape) < 2 {
		return precisions[exporters.FP32].kind
	}
	return t.p.kind
}

func (t tensor) size() int64 { return int64(len(t.values)) * t.dtype().Size() }

// neighbours puts row i of the first half of each head at 2i and that of the second at 2i+1, for heads of so many rows each.
func neighbours(values []float32, heads, rows int) []float32 {
	width, out := len(values)/(heads*rows), slices.Clone(values)
	for h := range heads {
		for i := range rows {
			to := h*rows + 2*(i%(rows/2)) + i/(rows/2)
			copy(out[to*width:(to+1)*width], values[(h*rows+i)*width:])
		}
	}
	return out
}
