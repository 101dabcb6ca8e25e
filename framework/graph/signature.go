package graph

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// signature is how one version of an operator is called.
type signature struct {
	since            int64 // opset
	gone             bool  // from since on there is no such operator
	minIn, maxIn     int   // max -1: any number
	minOut, maxOut   int
	kinds            map[string]Kind // attributes; kind 0 is not checked
	neededAttributes []string
}

// operators.txt holds the signatures of ONNX's operators, as testdata/operators.py writes them.
//
//go:embed operators.txt
var onnxSignatures string

// runtimeSignatures are operators of ONNX Runtime in the same form.
const runtimeSignatures = `
SimplifiedLayerNormalization 1 2 2 1 2 axis:i epsilon:f stash_type:i
com.microsoft.FusedMatMul 1 2 2 1 1 alpha:f transA:i transB:i transBatchA:i transBatchB:i
com.microsoft.QuickGelu 1 1 1 1 1 alpha:f
com.microsoft.FastGelu 1 1 2 1 1
com.microsoft.RotaryEmbedding 1 4 4 1 1 interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f`

// signatures holds all versions of every operator, the oldest first, by [Key].
var signatures = sync.OnceValue(func() map[string][]signature {
	kinds := map[string]Kind{"f": KindFloat, "i": KindInt, "s": KindString, "t": KindTensor, "g": KindGraph,
		"F": KindFloats, "I": KindInts, "S": KindStrings, "T": KindTensors, "G": KindGraphs}
	out := map[string][]signature{}
	for line := range strings.Lines(onnxSignatures + runtimeSignatures) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		s := signature{kinds: map[string]Kind{}, gone: f[2] == "gone"}
		number := func(i int) int {
			if i >= len(f) {
				return 0
			}
			n, _ := strconv.Atoi(f[i])
			return n
		}
		s.since, s.minIn, s.maxIn, s.minOut, s.maxOut = int64(number(1)), number(2), number(3), number(4), number(5)
		for _, a := range f[min(6, len(f)):] {
			name, kind, _ := strings.Cut(a, ":")
			kind, needed := strings.CutSuffix(kind, "!")
			if s.kinds[name] = kinds[kind]; needed {
				s.neededAttributes = append(s.neededAttributes, name)
			}
		}
		out[f[0]] = append(out[f[0]], s)
	}
	return out
})

// signatureOf finds how a node is called in an opset of its domain. known is false for operators in no table.
func signatureOf(n *Node, opset int64) (s *signature, known bool, err error) {
	if f, ours := functions[Key(n)]; ours {
		s := &signature{minIn: len(f.inputs), maxIn: len(f.inputs), minOut: 1, maxOut: len(f.outputs), kinds: map[string]Kind{}}
		for _, a := range f.attributes {
			s.kinds[a.Name] = a.Kind
		}
		return s, true, nil
	}
	versions := signatures()[Key(n)]
	if len(versions) == 0 {
		return nil, false, nil
	}
	for _, v := range slices.Backward(versions) {
		if v.since <= opset || n.Domain != "" {
			if v.gone {
				return nil, true, fmt.Errorf("operator %s ended with opset %d, the graph has %d", Key(n), v.since, opset)
			}
			return &v, true, nil
		}
	}
	return nil, true, fmt.Errorf("operator %s begins with opset %d, the graph has %d; raise the opset or write it with other operators", Key(n), versions[0].since, opset)
}

// problems lists what is wrong with the call of an operator: numbers of inputs and outputs, attributes. inFunction allows
// attributes that refer to those of the function.
func (s *signature) problems(n *Node, inFunction bool) []error {
	var out []error
	bad := func(format string, args ...any) { out = append(out, fmt.Errorf(format, args...)) }
	given := 0
	for i, name := range n.Inputs {
		if name != "" {
			given = i + 1
		}
	}
	if given < s.minIn || s.maxIn >= 0 && given > s.maxIn {
		bad("%s given; %s takes %s", count(given, "input"), Key(n), span(s.minIn, s.maxIn, "input"))
	}
	if k := len(n.Outputs); k < s.minOut || s.maxOut >= 0 && k > s.maxOut {
		bad("%s wanted; %s gives %s", count(k, "output"), Key(n), span(s.minOut, s.maxOut, "output"))
	}
	seen := map[string]bool{}
	for _, a := range n.Attributes {
		want, known := s.kinds[a.Name]
		switch {
		case seen[a.Name]:
			bad("attribute %s is given twice; leave one out", a.Name)
		case !known:
			bad("attribute %s is unknown; %s has %s", a.Name, Key(n), names(s.kinds))
		case want != 0 && a.Kind != want:
			bad("attribute %s has kind %s; expected %s", a.Name, a.Kind, want)
		case a.Ref != "" && !inFunction:
			bad("attribute %s refers to %s of a function, and this is none; give a value", a.Name, a.Ref)
		case a.Ref == "" && (a.Kind == KindTensor && a.T == nil || a.Kind == KindGraph && a.G == nil):
			bad("attribute %s is empty; expected a %s", a.Name, a.Kind)
		}
		seen[a.Name] = true
	}
	for _, name := range s.neededAttributes {
		if !seen[name] {
			bad("the attribute %s is missing; expected one of kind %s", name, s.kinds[name])
		}
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func span(low, high int, what string) string {
	switch {
	case high < 0:
		return "at least " + count(low, what)
	case low == high:
		return count(low, what)
	}
	return fmt.Sprintf("%d to %s", low, count(high, what))
}

// names lists the attributes of an operator for messages.
func names(kinds map[string]Kind) string {
	if len(kinds) == 0 {
		return "no attributes"
	}
	all := make([]string, 0, len(kinds))
	for k := range kinds {
		all = append(all, k)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
