package foreign

import (
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// made matches names that exporters make up: onnx::MatMul_1203, val_21, embedding_1, /layer/Constant_3_output_0, 417.
var made = regexp.MustCompile(`^(onnx::.*|[A-Za-z_]*_?\d+|t|(.*/)?[A-Za-z]+(_\d+)?_output_\d+|const[A-Za-z_]*\d*)$`)

func readable(name string) bool { return !made.MatchString(name) }

// scope is the module that a node belongs to: PyTorch's exporters keep it in the node's metadata (from torch.export) or its
// name ("/bert/encoder/layer.0/attention/self/query/MatMul"). known is false where neither is there.
func scope(n *graph.Node) (module string, known bool) {
	if scopes := metadata(n, "pkg.torch.onnx.name_scopes"); scopes != "" { // "['', 'bert', 'bert.encoder', 'linear_1']"
		parts := strings.Split(strings.Trim(scopes, "[]"), ", ")
		if len(parts) >= 2 {
			return strings.Trim(parts[len(parts)-2], `'"`), true
		}
	}
	if i := strings.LastIndexByte(n.Name, '/'); i >= 0 {
		return strings.ReplaceAll(strings.Trim(n.Name[:i], "/"), "/", "."), true
	}
	return "", false
}

// metadata finds an entry of NodeProto.metadata_props (field 9), "" where there is none.
func metadata(n *graph.Node, key string) string {
	out := ""
	texts(n.Unknown, func(num protowire.Number, entry []byte) {
		var pair [3]string // of StringStringEntryProto
		texts(entry, func(num protowire.Number, text []byte) {
			if num < 3 {
				pair[num] = string(text)
			}
		})
		if num == 9 && pair[1] == key {
			out = pair[2]
		}
	})
	return out
}

// texts visits the fields of a message that have a length, until it is damaged.
func texts(b []byte, visit func(num protowire.Number, text []byte)) {
	for len(b) > 0 {
		num, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if size < 0 {
			return
		}
		if typ == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(b[tag:])
			visit(num, text)
		}
		b = b[tag+size:]
	}
}

// role is what a tensor is to the node that reads it.
func role(u use, t *graph.Tensor) string {
	switch u.node.Op {
	case "Gather", "Conv", "Mul", "Div", "MatMul", "FusedMatMul", "Gemm", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization":
		if u.at == 2 {
			return "bias"
		}
		return "weight"
	case "Add", "Sub", "Sum":
		if vector(t) {
			return "bias"
		}
	}
	return "table"
}

// derived is the name of a tensor by the node that reads it.
func derived(u use, t *graph.Tensor) string {
	module, _ := scope(u.node)
	if module == "" {
		module = strings.ToLower(u.node.Op)
	}
	return module + "." + role(u, t)
}

// again matches the number that torch.jit puts behind a module that is called once more: dense_1.
var again = regexp.MustCompile(`_\d+(\.|$)`)

// label gives every candidate a name of its own: the file's, or one of the place where it is used.
func (r *reader) label(all []*candidate) {
	taken := map[string]bool{}
	plain := func(name string) string { return strings.ReplaceAll(strings.Trim(name, "/"), "/", ".") }
	for _, c := range all {
		if name := c.places[0].tensor.Name; readable(name) {
			c.name = unique(plain(name), taken)
		}
	}
	for _, c := range all {
		if c.name == "" {
			c.name = unique(derived(c.uses[0], c.places[0].tensor), taken)
		}
	}
}

// unique is the name, with a number behind it if it is taken, which it is from now on.
func unique(name string, taken map[string]bool) string {
	out := name
	for i := 2; taken[out]; i++ {
		out = name + "_" + strconv.Itoa(i)
	}
	taken[out] = true
	return out
}
