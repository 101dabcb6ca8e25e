package graph

import (
	"fmt"
	"maps"
	"slices"
)

// Port is a named input or output of a network. Dimensions of the same name are equal in all ports of one call.
type Port struct {
	Name  string
	Type  Type
	Shape []Dim
}

// Signature says what a network takes and gives, such as input_ids [B, L] to logits [B, L, 50].
type Signature struct{ Inputs, Outputs []Port }

// Takes tells whether the network has an input of a name.
func (s Signature) Takes(name string) bool { return named(s.Inputs, name) }

// Gives tells whether the network has an output of a name.
func (s Signature) Gives(name string) bool { return named(s.Outputs, name) }

func named(ports []Port, name string) bool {
	return slices.ContainsFunc(ports, func(p Port) bool { return p.Name == name })
}

// DeclareNetwork makes a network known to [Builder.Network], which calls it by name. Its inside is filled in later, by
// whoever has it.
func (b *Builder) DeclareNetwork(name string, s Signature) {
	if b.networks == nil {
		b.networks = map[string]Signature{}
	}
	b.networks[name] = s
}

// Network calls a declared network with named inputs and returns its named outputs. Inputs of the signature may be left
// out where the network has a default for them (attention_mask: all real).
func (b *Builder) Network(name string, inputs map[string]Value) map[string]Value {
	out := map[string]Value{}
	if b.err != nil {
		return out
	}
	s, ok := b.networks[name]
	if !ok {
		b.fail("network %q is not declared; the declared ones are %q", name, slices.Sorted(maps.Keys(b.networks)))
		return out
	}
	node := []*Attribute{String("name", name), {Name: "inputs", Kind: KindStrings}, {Name: "outputs", Kind: KindStrings}}
	var values []Value
	for _, p := range s.Inputs {
		if v, ok := inputs[p.Name]; ok && v.Given() {
			node[1].Strings = append(node[1].Strings, []byte(p.Name))
			values = append(values, v)
		}
	}
	if len(values) != len(inputs) {
		for _, k := range slices.Sorted(maps.Keys(inputs)) {
			if !slices.ContainsFunc(s.Inputs, func(p Port) bool { return p.Name == k }) {
				b.fail("network %q has no input %q; it has %s", name, k, portNames(s.Inputs))
				return out
			}
		}
	}
	for _, p := range s.Outputs {
		node[2].Strings = append(node[2].Strings, []byte(p.Name))
	}
	for i, v := range b.OpN("mdm.Network", len(s.Outputs), node, values...) {
		out[s.Outputs[i].Name] = v
	}
	return out
}

func portNames(ports []Port) string {
	names := make([]string, len(ports))
	for i, p := range ports {
		names[i] = p.Name
	}
	return fmt.Sprintf("%q", names)
}

func init() { register(inferNetwork, "mdm.Network") }

func inferNetwork(c *call) error {
	name := c.node.TextAttr("name", "")
	s, ok := c.b.networks[name]
	if !ok {
		return fmt.Errorf("network %q is not declared; the declared ones are %q", name, slices.Sorted(maps.Keys(c.b.networks)))
	}
	given := c.node.StringsAttr("inputs")
	if len(given) != len(c.in) {
		return fmt.Errorf("network %q: the attribute inputs names %d of %d inputs; expected one name an input", name, len(given), len(c.in))
	}
	sizes := map[string]Dim{}
	for i, key := range given {
		at := slices.IndexFunc(s.Inputs, func(p Port) bool { return p.Name == key })
		if at < 0 {
			return fmt.Errorf("network %q has no input %q; it has %s", name, key, portNames(s.Inputs))
		}
		if err := match(s.Inputs[at], c.in[i], sizes); err != nil {
			return fmt.Errorf("network %q: %w", name, err)
		}
	}
	outputs := s.Outputs
	if wanted := c.node.StringsAttr("outputs"); wanted != nil {
		outputs = nil
		for _, key := range wanted {
			at := slices.IndexFunc(s.Outputs, func(p Port) bool { return p.Name == key })
			if at < 0 {
				return fmt.Errorf("network %q has no output %q; it has %s", name, key, portNames(s.Outputs))
			}
			outputs = append(outputs, s.Outputs[at])
		}
	}
	if len(c.out) > len(outputs) {
		return fmt.Errorf("network %q: %s wanted; it has %s", name, count(len(c.out), "output"), portNames(outputs))
	}
	for i, p := range outputs[:len(c.out)] {
		shape := slices.Clone(p.Shape)
		for j, d := range shape {
			shape[j] = d.substitute(sizes)
		}
		c.set(i, p.Type, shape)
	}
	return nil
}

// match holds a value against a port and learns the sizes behind the port's names.
func match(p Port, v Value, sizes map[string]Dim) error {
	if v.Type() != p.Type && v.Type() != Undefined {
		return fmt.Errorf("input %s is %s; expected %s", p.Name, v, p.Type)
	}
	if !v.HasRank() {
		return nil
	}
	if v.Rank() != len(p.Shape) {
		return fmt.Errorf("input %s is %s; expected shape %s", p.Name, v, shapeText(p.Shape))
	}
	for i, want := range p.Shape {
		got := v.Dim(i)
		if want.unknown() {
			continue
		}
		if !want.IsKnown() {
			before, seen := sizes[want.Name]
			if seen && before.IsKnown() && got.IsKnown() && before.Size != got.Size {
				return fmt.Errorf("input %s is %s: %s where another input has %s for %s; expected one size", p.Name, v, got, before, want.Name)
			}
			if !seen || got.IsKnown() {
				sizes[want.Name] = got
			}
			continue
		}
		if got.IsKnown() && got.Size != want.Size {
			return fmt.Errorf("input %s is %s; expected shape %s", p.Name, v, shapeText(p.Shape))
		}
	}
	return nil
}
