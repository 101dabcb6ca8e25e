package onnx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"

	"github.com/mdmhost/mdmhost/framework/graph"
	"github.com/mdmhost/mdmhost/runtimes/internal/forward"
)

// slot is one input or output of a program's session.
type slot struct {
	name  string
	typ   graph.Type
	dims  []int64
	state *State // nil: fed, or given back
}

// String is the value's name, type and shape.
func (p slot) String() string { return fmt.Sprintf("%s %s %v", p.name, p.typ, p.dims) }

// layout works out a program's inputs and outputs from its graph and options.
type layout struct {
	device          *Device
	graph           *graph.Graph
	dims            map[string]int64  // values of the graph's symbolic dimensions
	source          map[string]string // who gave them, for messages
	given           map[string]int64
	inputs, outputs []slot
	written         []*State
}

func (l *layout) resolve(o ProgramOptions) error {
	l.given = o.Dims
	feeds := l.graph.Feeds()
	read, written := map[string]*State{}, map[string]*State{}
	for i, b := range o.States {
		if err := l.bind(i, b, feeds, read, written); err != nil {
			return err
		}
	}
	for _, v := range feeds {
		p, err := l.slot("input", v, read[v.Name])
		if err != nil {
			return err
		}
		l.inputs = append(l.inputs, p)
	}
	for _, name := range o.Outputs {
		switch v := find(l.graph.Outputs, name); {
		case v == nil:
			return fmt.Errorf("has no output %q: %s", name, nearest(name, namesOf(l.graph.Outputs)))
		case written[name] != nil:
			return fmt.Errorf("output %q is bound to state %s and cannot come back to the host, too; read the state", name, written[name].name)
		case v.Type != graph.Float32:
			return fmt.Errorf("output %q holds %s, expected float32; cast it in the graph", name, v.Type)
		}
	}
	for _, v := range l.graph.Outputs {
		state := written[v.Name]
		if state == nil && !slices.Contains(o.Outputs, v.Name) {
			continue
		}
		p, err := l.slot("output", v, state)
		if err != nil {
			return err
		}
		l.outputs = append(l.outputs, p)
	}
	if len(l.outputs) == 0 {
		return fmt.Errorf("gives nothing: no output is bound to a state or listed in Outputs; the graph has %s", forward.Names(l.graph.Outputs))
	}
	return nil
}

// bind checks one binding and learns dimensions from its state.
func (l *layout) bind(i int, b StateBinding, feeds []*graph.ValueInfo, read, written map[string]*State) error {
	s := b.State
	switch {
	case s == nil:
		return fmt.Errorf("binding %d (input %q, output %q) has no state", i, b.Input, b.Output)
	case s.device != l.device:
		return fmt.Errorf("state %s is of another device; make it on the program's", s.name)
	case b.Input == "" && b.Output == "":
		return fmt.Errorf("binding %d of state %s names neither an input nor an output", i, s.name)
	}
	for _, side := range []struct {
		kind, name string
		values     []*graph.ValueInfo
		bound      map[string]*State
	}{{"input", b.Input, feeds, read}, {"output", b.Output, l.graph.Outputs, written}} {
		if side.name == "" {
			continue
		}
		v := find(side.values, side.name)
		if v == nil {
			return fmt.Errorf("has no %s %q for state %s: %s", side.kind, side.name, s.name, nearest(side.name, namesOf(side.values)))
		}
		if other := side.bound[side.name]; other != nil {
			return fmt.Errorf("%s %q is bound to state %s and to state %s; bind it once", side.kind, side.name, other.name, s.name)
		}
		side.bound[side.name] = s
		if err := l.fit(side.kind, v, s); err != nil {
			return err
		}
	}
	if b.Output != "" {
		if slices.Contains(l.written, s) {
			return fmt.Errorf("state %s is written by two outputs; bind one", s.name)
		}
		l.written = append(l.written, s)
	}
	return l.checkTransient(read, written)
}

// checkTransient refuses states that one run would read from and write to the same memory.
func (l *layout) checkTransient(read, written map[string]*State) error {
	for in, s := range read {
		for out, t := range written {
			if s == t && len(s.buffers) == 1 {
				return fmt.Errorf("state %s is read by input %q and written by output %q, and a transient has one buffer; make it with NewState", s.name, in, out)
			}
		}
	}
	return nil
}

// fit compares a state with the value that it is bound to.
func (l *layout) fit(kind string, v *graph.ValueInfo, s *State) error {
	wrong := func(why string) error {
		return fmt.Errorf("%s %s %s %s does not fit state %s%s", kind, v.Name, v.Type, shapeOf(v), s, why)
	}
	if v.Type != s.typ || v.HasRank && len(v.Shape) != len(s.dims) {
		return wrong("; type and shape must be equal")
	}
	for i, d := range v.Shape {
		n := s.dims[i]
		switch {
		case d.Size >= 0 && d.Size != n:
			return wrong(fmt.Sprintf(" in dimension %d", i))
		case d.Size >= 0 || d.Name == "":
			continue
		}
		if have, ok := l.value(d); ok && have != n {
			return wrong(fmt.Sprintf(": %s is %d by %s", d.Name, have, l.sourceOf(d.Name)))
		}
		l.dims[d.Name], l.source[d.Name] = n, "state "+s.name
	}
	return nil
}

// slot returns a session's input or output with its dimensions as numbers.
func (l *layout) slot(kind string, v *graph.ValueInfo, s *State) (slot, error) {
	p := slot{name: v.Name, typ: v.Type, state: s}
	if s != nil {
		p.dims = s.dims
		return p, nil
	}
	if sizes[v.Type] == 0 {
		return p, fmt.Errorf("%s %q holds %s, expected numbers; give it an initializer, or make the graph anew", kind, v.Name, v.Type)
	}
	if !v.HasRank {
		return p, fmt.Errorf("%s %q has no shape in the graph, so that its memory cannot be laid out; declare the shape", kind, v.Name)
	}
	for i, d := range v.Shape {
		n, ok := l.value(d)
		if !ok {
			if d.Name == "" {
				return p, fmt.Errorf("%s %q %s: dimension %d is unknown; declare it in the graph", kind, v.Name, shapeOf(v), i)
			}
			return p, fmt.Errorf("%s %q %s: dimension %s has no value; give it in Dims", kind, v.Name, shapeOf(v), d.Name)
		}
		if d.Name != "" {
			l.dims[d.Name] = n
		}
		p.dims = append(p.dims, n)
	}
	if _, err := volume(p.typ, p.dims); err != nil {
		return p, fmt.Errorf("%s %q: %w", kind, v.Name, err)
	}
	return p, nil
}

// value returns the number of a dimension, if it is known: as it stands, by its name, or as a sum of products of names
// ("2*B*L + 1"), which is how graph writes them.
func (l *layout) value(d graph.Dim) (int64, bool) {
	if d.Size >= 0 {
		return d.Size, true
	}
	if n, ok := l.named(d.Name); ok || d.Name == "" {
		return n, ok
	}
	sum := int64(0)
	for _, term := range strings.Split(strings.ReplaceAll(d.Name, " - ", " + -1*"), " + ") {
		product := int64(1)
		for _, factor := range strings.Split(term, "*") {
			n, err := strconv.ParseInt(factor, 10, 64)
			if err != nil {
				var ok bool
				if n, ok = l.named(factor); !ok {
					return 0, false
				}
			}
			product *= n
		}
		sum += product
	}
	return sum, sum >= 0
}

func (l *layout) named(name string) (int64, bool) {
	if n, ok := l.dims[name]; ok {
		return n, true
	}
	n, ok := l.given[name]
	return n, ok && n >= 0
}

func (l *layout) sourceOf(name string) string {
	if s := l.source[name]; s != "" {
		return s
	}
	return "Dims"
}

func find(values []*graph.ValueInfo, name string) *graph.ValueInfo {
	for _, v := range values {
		if v.Name == name {
			return v
		}
	}
	return nil
}

func namesOf(values []*graph.ValueInfo) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.Name)
	}
	return out
}

// shapeOf writes a declared shape as [B, L, 64], or as [...] where the graph has none.
func shapeOf(v *graph.ValueInfo) string {
	if !v.HasRank {
		return "[...]"
	}
	parts := make([]string, len(v.Shape))
	for i, d := range v.Shape {
		switch {
		case d.Size >= 0:
			parts[i] = strconv.FormatInt(d.Size, 10)
		case d.Name != "":
			parts[i] = d.Name
		default:
			parts[i] = "?"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// nearest says what somebody may have meant by an unknown name.
func nearest(name string, known []string) string {
	if len(known) == 0 {
		return "there are none"
	}
	best, distance := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if n := levenshtein.Distance(strings.ToLower(name), strings.ToLower(k), nil); n < distance {
			best, distance = k, n
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q? There are %s", best, strings.Join(known, ", "))
	}
	return "there are " + strings.Join(known, ", ")
}
