package graph

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Print lists a model for people: inputs, parameters, nodes with what inference knows of their outputs, outputs and functions. A
// node is a line such as
//
//	layer.0/MatMul: [B, L, 64] float32 = MatMul(x, w) {transB=1}
//
// Small constants stand in the place of their names. An operator that inference does not know is listed with the types that the file
// gives. The error is that of w.
func Print(w io.Writer, m *Model) error {
	p := &printer{w: bufio.NewWriter(w), m: m, constants: map[string]string{}}
	p.head()
	if g := m.Graph; g != nil {
		p.b = follow(m)
		p.values("inputs", g.Feeds())
		p.parameters()
		p.printf("nodes: %d\n", len(g.Nodes))
		for _, n := range g.Nodes {
			p.node(n)
		}
		p.values("outputs", g.Outputs)
	}
	if len(m.Functions) > 0 {
		p.printf("functions: %d\n", len(m.Functions))
	}
	for _, f := range m.Functions {
		p.printf("  %s(%s) -> %s%s: %s\n", functionKey(f.Domain, f.Name, f.Overload), strings.Join(f.Inputs, ", "), strings.Join(f.Outputs, ", "),
			attributesText(f.Defaults), count(len(f.Nodes), "node"))
	}
	return p.w.Flush()
}

type printer struct {
	w         *bufio.Writer
	m         *Model
	b         *Builder          // knows the values
	constants map[string]string // the text of small initializers
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *printer) head() {
	opsets := make([]string, len(p.m.Opsets))
	for i, o := range p.m.Opsets {
		name := o.Domain
		if o.canonical() == "" {
			name = "ai.onnx"
		}
		opsets[i] = fmt.Sprintf("%s %d", name, o.Version)
	}
	name := ""
	if p.m.Graph != nil {
		name = p.m.Graph.Name
	}
	p.printf("model %s: IR %d, opsets %s\n", name, p.m.IRVersion, strings.Join(opsets, ", "))
}

// values lists inputs or outputs, with inferred shapes where the file has none.
func (p *printer) values(title string, list []*ValueInfo) {
	p.printf("%s: %d\n", title, len(list))
	for _, v := range list {
		p.printf("  %s\n", p.described(v.Name))
	}
}

// described is a value with type and shape: "x: [B, L] float32".
func (p *printer) described(name string) string {
	v, _ := p.b.Value(name)
	switch {
	case v.info == nil || v.Type() == Undefined && !v.HasRank():
		return name + ": ?"
	case !v.HasRank():
		return fmt.Sprintf("%s: [?] %s", name, v.Type())
	}
	return fmt.Sprintf("%s: %s %s", name, shapeText(public(v.Shape())), v.Type())
}

func (p *printer) parameters() {
	var list []*Tensor
	elements, size := int64(0), int64(0)
	for _, t := range p.m.Graph.Initializers {
		if text, small := constantText(t); small {
			p.constants[t.Name] = text
			continue
		}
		list = append(list, t)
		n, _ := t.elements()
		bytes, _ := t.bytes()
		elements, size = elements+n, size+bytes
	}
	p.printf("parameters: %d, %d elements, %d bytes\n", len(list), elements, size)
	for _, t := range list {
		place := ""
		if t.IsExternal() {
			place = " in " + strconv.Quote(t.Location())
		}
		p.printf("  %s%s\n", p.described(t.Name), place)
	}
}

// maxPrinted is the number of elements up to which a constant is written out.
const maxPrinted = 8

// constantText writes small integers and float scalars out.
func constantText(t *Tensor) (string, bool) {
	n, ok := t.elements()
	if !ok || n > maxPrinted || t.check() != nil || len(t.Dims) > 1 {
		return "", false
	}
	t = t.withRaw()
	if t.Type == Float32 && len(t.Dims) == 0 && len(t.Raw) == 4 {
		return strconv.FormatFloat(float64(t.float(0)), 'g', -1, 32), true
	}
	v, err := t.Ints()
	if err != nil {
		return "", false
	}
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", ")
	if len(t.Dims) == 1 {
		text = "{" + text + "}"
	}
	return text, true
}

func (p *printer) node(n *Node) {
	var out []string
	for _, name := range n.Outputs {
		if name != "" {
			out = append(out, p.described(name))
		}
	}
	in := make([]string, len(n.Inputs))
	for i, name := range n.Inputs {
		in[i] = name
		if text, ok := p.constants[name]; ok {
			in[i] = text
		} else if name == "" {
			in[i] = "_"
		}
	}
	p.printf("  %s = %s(%s)%s\n", strings.Join(out, ", "), Key(n), strings.Join(in, ", "), attributesText(n.Attributes))
}

// attributesText is " {a=1, b=2}", or nothing where there are none.
func attributesText(list []*Attribute) string {
	if len(list) == 0 {
		return ""
	}
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = a.Name + "=" + a.text()
	}
	slices.Sort(parts)
	return " {" + strings.Join(parts, ", ") + "}"
}

// text is the attribute's value for people.
func (a *Attribute) text() string {
	switch {
	case a.Ref != "":
		return "@" + a.Ref
	case a.Kind == KindFloat:
		return strconv.FormatFloat(float64(a.F), 'g', -1, 32)
	case a.Kind == KindInt && a.Name == "to":
		return Type(a.I).String()
	case a.Kind == KindInt:
		return strconv.FormatInt(a.I, 10)
	case a.Kind == KindString && len(a.S) <= 64:
		return strconv.Quote(string(a.S))
	case a.Kind == KindInts && len(a.Ints) <= maxPrinted:
		return fmt.Sprint(a.Ints)
	case a.Kind == KindFloats && len(a.Floats) <= maxPrinted:
		return fmt.Sprint(a.Floats)
	case a.Kind == KindStrings && len(a.Strings) <= maxPrinted:
		return fmt.Sprintf("%q", a.Strings)
	case a.Kind == KindTensor && a.T != nil:
		if text, small := constantText(a.T); small {
			return text
		}
		return fmt.Sprintf("%s%v", a.T.Type, a.T.Dims)
	}
	return "(" + a.Kind.String() + ")"
}
